"""Synchronous SGD: every replica takes the same step along the mean gradient (Goyal et al., 2017, section 2.3).

g = 1/n sum_k g_k over n ranks, which is the whole batch's gradient as every rank has equally many images.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runner import Allreduce


class Sync:
    """Averages the gradients over all ranks, then lets the optimizer step.

    Every parameter's gradient is a view into one flat buffer (packed communication: one latency, not one per layer),
    so backward writes where the all-reduce reads and nothing is copied. The step's loss rides in the last element.
    """

    def __init__(
        self, params: Iterable[Parameter], optimizer: torch.optim.Optimizer, *, allreduce: Allreduce, world: int
    ) -> None:
        self._params = list(params)
        self._optimizer, self._allreduce, self._world = optimizer, allreduce, world
        first = self._params[0]
        sizes = [p.numel() for p in self._params]
        self._flat_N = torch.zeros(sum(sizes) + 1, dtype=first.dtype, device=first.device)
        parts = torch.split(self._flat_N[:-1], sizes)
        self._grads = [part.view_as(p) for part, p in zip(parts, self._params, strict=True)]
        for p, grad in zip(self._params, self._grads, strict=True):
            p.grad = grad

    @torch.no_grad()
    def step(self, loss: Tensor) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the mean loss."""
        self._refuse_strangers()
        self._flat_N[-1] = loss
        self._flat_N /= self._world  # before the sum: a sum of n gradients may leave a 16-bit type's range
        self._allreduce(self._flat_N)
        self._optimizer.step()
        mean_loss = self._flat_N[-1].clone()
        self._flat_N.zero_()
        return mean_loss

    def _refuse_strangers(self) -> None:
        if any(p.grad is not grad for p, grad in zip(self._params, self._grads, strict=True)):
            raise RuntimeError("a gradient was replaced; this rule clears them itself, so leave out zero_grad()")
