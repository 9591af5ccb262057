"""The choice of an algorithm by size: each class of sizes is decided once, alike on every rank, and can be kept.

A class is the sizes of one bit length. What decides is a function from bytes to a name: a price on measured links, or,
by default, a rehearsal: every candidate sums a vector of the class a few times, and the fastest wins.
"""

import time
from collections.abc import Callable, Mapping
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce

REHEARSALS = 5
REHEARSED_BYTES = 1 << 22  # a rehearsal of more tells no more: only bandwidth matters from here


class Auto:
    """An Allreduce that takes the best of several.

    `choices` is what to record with a run, and what to give back when it resumes, so that the same bits come out.
    """

    def __init__(
        self,
        algorithms: Mapping[str, Allreduce],
        *,
        choose: Callable[[int], str] | None = None,
        choices: Mapping[int, str] | None = None,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        if strangers := set((choices or {}).values()) - algorithms.keys():
            raise ValueError(f"the choices name {sorted(strangers)}; the algorithms are {sorted(algorithms)}")
        self.algorithms = dict(algorithms)
        self.choices: dict[int, str] = dict(choices or {})  # by bit length of the size in bytes
        self._choose, self._group = choose or self._rehearse, group

    def __call__(self, x_N: Tensor) -> None:
        """Sum the flat vector over all ranks, in place."""
        nbytes = x_N.numel() * x_N.element_size()
        if nbytes.bit_length() not in self.choices:
            self.choices[nbytes.bit_length()] = self._choose(nbytes)
        self.algorithms[self.choices[nbytes.bit_length()]](x_N)

    def _rehearse(self, nbytes: int) -> str:
        """Return the name of the algorithm that was fastest, the median of several rounds of all."""
        x_N = torch.zeros(max(min(nbytes, REHEARSED_BYTES) // 4, 1))
        spent_s = [[self._timed(allreduce, x_N) for allreduce in self.algorithms.values()] for _ in range(REHEARSALS)]
        medians = torch.tensor([median(of_one) for of_one in zip(*spent_s, strict=True)], dtype=torch.float64)
        dist.all_reduce(medians, dist.ReduceOp.MAX, group=self._group)  # so that all ranks choose alike
        return list(self.algorithms)[int(medians.argmin())]

    def _timed(self, allreduce: Allreduce, x_N: Tensor) -> float:
        started = time.perf_counter()
        allreduce(x_N)
        return time.perf_counter() - started
