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

from trainers.collectives.runner import Allreduce
from trainers.rules.flat import Packed, per_layer
from trainers.rules.rule import RIDERS
from trainers.rules.timed import Timed, untimed


class Sync:
    """Averages the gradients over all ranks, then lets the optimizer step.

    The gradients go into one flat vector, divided on the way, and are views of it while the optimizer reads them. What
    the ranks tell each other, the loss above all, rides in the last elements. `packed=False` sends every layer on its
    own. One rank alone sends nothing.
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
        updating: Timed = untimed,
    ) -> None:
        self._params = [p for p in params if p.requires_grad]
        self._world, self._update = world, updating(optimizer.step)
        self._gradients = Packed(self._params, extra=RIDERS) if world > 1 else None
        self._allreduce = allreduce if packed else per_layer(allreduce, [*(p.numel() for p in self._params), RIDERS])

    def begin(self, wishes: Sequence[float] = (), /) -> None:
        """Nothing goes on beside a backward pass: its gradient is what the ranks exchange."""

    @torch.no_grad()
    def step(self, told: Tensor, /) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the means of what the ranks told."""
        means = told if self._gradients is None else self._average(self._gradients, told)
        if not means.isfinite().all():  # weights and gradients stay as they are for whoever looks for the cause
            return means
        self._update()
        for p in self._params:
            p.grad = None
        return means

    def _average(self, gradients: Packed, told: Tensor) -> Tensor:
        flat_N = gradients.gather(1 / self._world)  # before the sum: one of n gradients may leave a 16-bit type's range
        riders = flat_N[-RIDERS:]
        riders.zero_()
        riders[: told.numel()] = told.flatten() / self._world
        self._allreduce(flat_N)
        gradients.hand_back()
        return riders[: told.numel()].clone().view_as(told)

    def settle(self) -> None:
        """All ranks have stepped when one has."""

    def answer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def left(self) -> Mapping[int, bool]:
        return {}

    def join(self, steps: int) -> None:
        """All replicas are alike."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass
