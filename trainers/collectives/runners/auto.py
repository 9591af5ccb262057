"""AutoAllreduce: the choice of an algorithm by size, made once per size class, the same on every rank, and storable.

A size class holds the sizes with the same bit length. The choice is a function from bytes to an algorithm's name: a
price on measured links, or by default a benchmark, in which each algorithm sums a vector a few times.
"""

import time
from collections.abc import Callable, Mapping
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce

REPEATS = 5
MOST_BYTES = 1 << 22  # of a benchmark's vector: from this size on, only bandwidth decides


class AutoAllreduce:
    """Sum by the best of several algorithms.

    `choices` is the record of the choice: pass it to the AutoAllreduce of a resumed run to get the same bits.
    """

    def __init__(
        self,
        algorithms: Mapping[str, Allreduce],
        *,
        choose: Callable[[int], str] | None = None,
        choices: Mapping[int, str] | None = None,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        if unknown := set((choices or {}).values()) - algorithms.keys():
            raise ValueError(f"the choices name {sorted(unknown)}; the algorithms are {sorted(algorithms)}")
        self.algorithms = dict(algorithms)
        self.choices: dict[int, str] = dict(choices or {})  # by bit length of the size in bytes
        self._choose, self._group = choose or self._choose_fastest, group

    def __call__(self, x_N: Tensor) -> None:
        """Sum the flat vector over all ranks, in place."""
        nbytes = x_N.numel() * x_N.element_size()
        if nbytes.bit_length() not in self.choices:
            self.choices[nbytes.bit_length()] = self._choose(nbytes)
        self.algorithms[self.choices[nbytes.bit_length()]](x_N)

    def _choose_fastest(self, nbytes: int) -> str:
        """Return the name of the algorithm with the least median time."""
        x_N = torch.zeros(max(min(nbytes, MOST_BYTES) // 4, 1))
        spent_s = [[self._time(allreduce, x_N) for allreduce in self.algorithms.values()] for _ in range(REPEATS)]
        medians = torch.tensor([median(of_one) for of_one in zip(*spent_s, strict=True)], dtype=torch.float64)
        dist.all_reduce(medians, dist.ReduceOp.MAX, group=self._group)  # so that all ranks make the same choice
        return list(self.algorithms)[int(medians.argmin())]

    def _time(self, allreduce: Allreduce, x_N: Tensor) -> float:
        started = time.perf_counter()
        allreduce(x_N)
        return time.perf_counter() - started
