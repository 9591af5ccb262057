"""Merge the ranges of all ranks into common ranges, and split waiting for slower ranks from communication.

With b_r the busy time of rank r (compute, update and input) and c_r its time in collectives,

    idle_r = min(c_r, max_k b_k - b_r),   communication_r = c_r - idle_r

as the engine does (trainers/progress/step_metrics.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bigbatch.injected.times.step_windows import Window


class Merged(NamedTuple):
    """The mean seconds per step of every rank, by TIME_PARTS, over the steps `first` to `last`."""

    first: int
    last: int
    ranks: dict[int, tuple[float, ...]]
    slowest: int


def merge_next(queues: Mapping[int, list[Window]]) -> Merged | None:
    """Take the next common range from the ranks' queues; None until every rank has reached its end."""
    if not queues or not all(queues.values()):
        return None
    last, taken = 0, dict.fromkeys(queues, 0)
    while True:
        for rank, windows in queues.items():
            while windows[taken[rank] - 1].last < last or not taken[rank]:
                if taken[rank] == len(windows):
                    return None
                taken[rank] += 1
            last = max(last, windows[taken[rank] - 1].last)
        if all(windows[taken[rank] - 1].last == last for rank, windows in queues.items()):
            break
    means = {rank: _mean(windows[: taken[rank]]) for rank, windows in queues.items()}
    first = min(windows[0].first for windows in queues.values())
    for rank, windows in queues.items():
        del windows[: taken[rank]]
    busy = {rank: compute + update + input_s for rank, (compute, update, _, input_s) in means.items()}
    slowest = max(busy, key=lambda rank: (busy[rank], -rank))
    return Merged(first, last, {rank: _split(parts, busy[slowest]) for rank, parts in means.items()}, slowest)


def _mean(windows: list[Window]) -> tuple[float, float, float, float]:
    steps = [window.last - window.first + 1 for window in windows]
    weighted = [[window.parts[part] * steps[index] for index, window in enumerate(windows)] for part in range(4)]
    compute, update, communication, input_s = (sum(values) / sum(steps) for values in weighted)
    return compute, update, communication, input_s


def _split(parts: tuple[float, float, float, float], longest_busy_s: float) -> tuple[float, ...]:
    compute, update, collective, input_s = parts
    idle = max(0.0, min(collective, longest_busy_s - compute - update - input_s))
    return compute, update, collective - idle, input_s, idle
