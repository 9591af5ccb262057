"""Synchronous SGD: every replica takes the same step along the mean gradient (Goyal et al., 2017, section 2.3).

g = 1/n sum_k g_k over n ranks, which is the whole batch's gradient as every rank has equally many images.
With a parameter server as its collective this is FireCaffe's yardstick (Iandola et al., 2015).
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runner import Allreduce
from trainers.rules.flat import Gradients, per_layer


class Sync:
    """Averages the gradients over all ranks, then lets the optimizer step.

    Every gradient is a view into one flat vector, so backward writes where the all-reduce reads and nothing is copied.
    The step's loss rides in the last element. `packed=False` sends every layer on its own.
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
    ) -> None:
        layers = list(params)
        self._optimizer, self._world = optimizer, world
        self._gradients = Gradients(layers, extra=1)
        self._allreduce = allreduce if packed else per_layer(allreduce, [*(p.numel() for p in layers), 1])

    def begin(self) -> None:
        """Nothing goes on beside a backward pass: its gradient is what the ranks exchange."""

    @torch.no_grad()
    def step(self, loss: Tensor) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the mean loss."""
        self._gradients.refuse_strangers()
        flat_N = self._gradients.flat_N
        flat_N[-1] = loss
        flat_N /= self._world  # before the sum: a sum of n gradients may leave a 16-bit type's range
        self._allreduce(flat_N)
        self._optimizer.step()
        mean_loss = flat_N[-1].clone()
        flat_N.zero_()
        return mean_loss

    def settle(self) -> None:
        """All ranks have stepped when one has."""

    def answer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass
