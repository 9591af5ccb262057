"""Synchronous SGD: every replica takes the same step along the mean gradient (Goyal et al., 2017, section 2.3).

g = 1/n sum_k g_k over n ranks, which is the whole batch's gradient as every rank has equally many images.
With a parameter server as its collective this is FireCaffe's yardstick (Iandola et al., 2015).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import Beside
from trainers.rules.call_timer import Timed, untimed
from trainers.rules.flat_vector import Packed
from trainers.rules.gradient_buckets import Reducer, divided
from trainers.rules.rule import RIDERS


class Sync:
    """Averages the gradients over all ranks, then lets the optimizer step.

    The gradients go into flat vectors, divided on the way, and are views of them while the optimizer reads them. What
    the ranks tell each other, the loss above all, rides in the last elements. `overlap`: the vectors are summed while
    backward goes on, else as one, after it. `packed=False` sends every layer on its own. One rank alone sends nothing.
    """

    replicas_differ = False
    is_synchronous = True

    def __init__(
        self,
        params: Iterable[Parameter],
        optimizer: torch.optim.Optimizer,
        *,
        allreduce: Allreduce,
        world: int,
        packed: bool = True,
        overlap: bool = True,
        timed: Timed = untimed,
        updating: Timed = untimed,
    ) -> None:
        self._params = [p for p in params if p.requires_grad]
        self._world, self._update, self._overlap = world, updating(optimizer.step), overlap
        self._allreduce, self._sum = allreduce, timed(self._sum_the_rest)
        if world > 1:
            *others, last = self._divided(packed=packed)
            buckets = [Packed(part) for part in others]
            self._reducer = Reducer(buckets, factor=1 / world, begin=Beside(allreduce).begin)
            self._last = Packed(last, extra=RIDERS)

    def _divided(self, *, packed: bool) -> list[list[Parameter]]:
        if not packed:
            return [[p] for p in reversed(self._params)]
        return divided(self._params) if self._overlap else [self._params]

    def begin(self, wishes: Sequence[float] = (), /) -> None:
        """Nothing to send before there is a gradient."""

    def last_pass(self) -> None:
        if self._overlap and self._world > 1:
            self._reducer.begin()

    @torch.no_grad()
    def step(self, told: Tensor, /) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the means of what the ranks told."""
        means = told if self._world == 1 else self._average(told)
        if not means.isfinite().all():  # weights and gradients stay as they are for whoever looks for the cause
            return means
        self._update()
        for p in self._params:
            p.grad = None
        return means

    def _average(self, told: Tensor) -> Tensor:
        # before the sum: a sum of n gradients may leave a 16-bit type's range
        flat_N = self._last.gather(1 / self._world)
        riders = flat_N[-RIDERS:]
        riders.zero_()
        riders[: told.numel()] = told.flatten() / self._world
        self._sum(flat_N)
        return riders[: told.numel()].clone().view_as(told)

    def _sum_the_rest(self, flat_N: Tensor) -> None:
        self._reducer.finish()
        self._allreduce(flat_N)

    def settle(self) -> None:
        """All ranks have stepped when one has."""

    def answer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def left(self) -> Mapping[int, str | None]:
        return {}

    def join(self, steps: int) -> None:
        """All replicas are alike."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass
