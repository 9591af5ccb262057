"""Compare values over the ranks: one small message, and only if it differs the values themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import torch
import torch.distributed as dist

from trainers.collectives.json_exchange import gather_json
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.replicas.difference import Difference, first_difference
from trainers.replicas.values import Value, Values

PAGE = 500  # values in a message, which is so far below the limit of gather_json
MAX_NAME = 200  # characters


@dataclass(frozen=True)
class Comparers:
    """The ranks that compare their values: their numbers, and the group of their messages."""

    ranks: Sequence[int]
    watch: BackendCollectives  # of the group
    group: dist.ProcessGroup | None = None  # None: of all ranks


def find_difference(values: Values, comparers: Comparers) -> Difference | None:
    """Return the first value that is not equal on all ranks, the same on each rank; None if there is none.

    All ranks of the group call this together.
    """
    own_4 = _digest_of_all(values)
    of_ranks = [torch.empty_like(own_4) for _ in comparers.ranks]
    comparers.watch.all_gather(of_ranks, own_4)
    if all(torch.equal(of_ranks[0], each) for each in of_ranks):
        return None
    return first_difference(_gather(values, comparers), comparers.ranks)


def _digest_of_all(values: Values) -> torch.Tensor:
    lines = "\n".join("\t".join((name, *value)) for name, value in values.items())
    return torch.from_numpy(np.frombuffer(sha256(lines.encode()).digest(), dtype=np.int64).copy())


def _gather(values: Values, comparers: Comparers) -> list[Values]:
    own = [(_cut(name), *value) for name, value in values.items()]
    most = max(gather_json(len(own), comparers.group))
    found: list[Values] = [{} for _ in comparers.ranks]
    for begin in range(0, most, PAGE):
        for of_rank, page in zip(found, gather_json(own[begin : begin + PAGE], comparers.group), strict=True):
            of_rank |= {name: Value(*value) for name, *value in page}
    return found


def _cut(name: str) -> str:
    """Return a long name without its middle, and with a hash in its place, so that names remain different."""
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME // 2]}...{sha256(name.encode()).hexdigest()[:8]}...{name[-MAX_NAME // 2 :]}"
