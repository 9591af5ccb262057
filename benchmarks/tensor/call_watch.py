"""CallWatch: the seconds of every collective of a pass on a mesh, with or without a barrier before each call.

Without barriers a call also takes the wait for ranks that still compute, as it does in a run. With them all ranks begin
a call together, so the time from the first rank's start to the last rank's end is that of the messages alone, which is
what a price predicts. All ranks share the clock of one machine.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Call:
    """A collective: its operation, the ranks of its group, and the bytes of its whole vector."""

    operation: str
    ranks: int
    size_bytes: int


class CallWatch:
    """Counts the seconds of the calls since `begin`."""

    def __init__(self) -> None:
        self._has_barriers = False
        self.calls: list[Call] = []
        self.spans: list[tuple[float, float]] = []  # start and end of each call

    def begin(self, *, has_barriers: bool) -> None:
        """Forget the calls before."""
        self._has_barriers = has_barriers
        self.calls, self.spans = [], []

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a collective of a group, whose calls count."""
        return partial(self._call, function)

    @property
    def seconds(self) -> float:
        """The seconds that this rank has spent in calls."""
        return sum(end_s - start_s for start_s, end_s in self.spans)

    def seconds_of_all(self) -> Tensor:
        """Return the time of each call on all ranks together, which have the same sequence of calls."""
        start_C, end_C = torch.tensor(self.spans, dtype=torch.float64).T.contiguous()
        dist.all_reduce(start_C, op=dist.ReduceOp.MIN)
        dist.all_reduce(end_C, op=dist.ReduceOp.MAX)
        seconds_C: Tensor = end_C - start_C
        return seconds_C

    def _call(self, function: Any, x: Tensor, *arguments: Any) -> Any:
        operation, ranks = function.__name__, function.__self__.size
        blocks = ranks if operation == "all_gather" else 1  # it is called with one block of the vector
        self.calls.append(Call(operation, ranks, blocks * x.numel() * x.element_size()))
        if self._has_barriers:
            dist.barrier()
        started_s = time.perf_counter()
        try:
            return function(x, *arguments)
        finally:
            self.spans.append((started_s, time.perf_counter()))
