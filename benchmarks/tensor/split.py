"""The seconds of a pass on a mesh, split into those of its messages and those of its bytes, by what was measured.

Among n ranks on hosts of their own a vector of S bytes puts L bytes on each busy link: 2 (n - 1) / n S in an
all-reduce, (n - 1) / n S in an all-gather or a reduce-scatter, and ceil(log2 n) S in the tree of a broadcast or a
reduce. The first bytes pass in the link's burst of B bytes. For each operation among as many ranks the calls of all
sizes give a line

    t = a + b max(L - B, 0)

so the calls of a pass take a in their messages, and the rest in their bytes. `link_times` is what the bytes took over
what a rank's sent bytes, the mean over the ranks, need on a link that never rests: 1 where all links are busy in both
directions at once, 2 where every link rests half of the time.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

Calls = list[dict[str, Any]]
Split = dict[str, Any]
Line = tuple[float, float]  # a and b


def fit_lines(calls: Iterable[dict[str, Any]], burst_bytes: float) -> dict[str, Line]:
    """Return the line of each operation through the medians of all sizes.

    It has the least sum of squares of relative errors, and a and b are not below 0.
    """
    times: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for call in calls:
        times[key_of(call)][shaped_bytes(call, burst_bytes)].append(call["seconds"])
    return {
        key: _fit(np.array([(size, statistics.median(found)) for size, found in of_sizes.items()]))
        for key, of_sizes in times.items()
    }


def key_of(call: dict[str, Any]) -> str:
    """Return the operation of a call, and the ranks of its group."""
    return f"{call['operation']} among {call['ranks']}"


def shaped_bytes(call: dict[str, Any], burst_bytes: float) -> float:
    """Return the bytes of a call on a busy link, without those of the burst."""
    n = call["ranks"]
    passes = {"all_reduce": 2 * (n - 1) / n, "all_gather": (n - 1) / n, "reduce_scatter": (n - 1) / n}
    # the tree of a broadcast or a reduce: its root sends or receives the whole vector once in each round
    share = passes.get(call["operation"], (n - 1).bit_length())
    return float(max(share * call["size_bytes"] - burst_bytes, 0.0))


def _fit(points: Any) -> Line:
    size_N, time_N = points.T
    if len(set(size_N)) == 1:
        return float(time_N.mean()), 0.0
    columns = np.stack([np.ones_like(size_N), size_N], axis=1) / time_N[:, None]
    (a, b), *_ = np.linalg.lstsq(columns, np.ones_like(time_N), rcond=None)
    if a < 0:
        return 0.0, float((size_N / time_N).sum() / ((size_N / time_N) ** 2).sum())
    if b < 0:
        return float((1 / time_N).sum() / ((1 / time_N) ** 2).sum()), 0.0
    return float(a), float(b)


def split_pass(calls: Calls, lines: dict[str, Line], *, bytes_per_rank: float, network: dict[str, float]) -> Split:
    """Return the seconds of a pass's messages and bytes, and the same for each operation."""
    parts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for call in calls:
        part, (a, b) = parts[key_of(call)], lines[key_of(call)]
        part["calls"] += 1
        part["messages_s"] += a
        part["bytes_s"] += b * shaped_bytes(call, network["burst_bytes"])
        part["measured_s"] += call["seconds"]
    total = {name: sum(part[name] for part in parts.values()) for name in ("messages_s", "bytes_s", "measured_s")}
    link_times = total["bytes_s"] * network["rate"] / bytes_per_rank
    return {
        **total,
        "calls": len(calls),
        "link_times": link_times,
        "operations": {k: dict(v) for k, v in parts.items()},
    }
