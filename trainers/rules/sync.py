"""Synchronous SGD: every replica takes the same step along the mean gradient (Goyal et al., 2017, section 2.3).

g = 1/n sum_k g_k over n ranks is the gradient of the whole batch, because every rank has the same number of samples.
With a parameter server as its collective this is FireCaffe's baseline (Iandola et al., 2015).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import AsyncAllreduce
from trainers.collectives.runners.side_stream import SideStream
from trainers.optimizers.gradient_check import GradientCheck
from trainers.preconditioners.kfac import KFAC
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.early_means import EarlyMeans
from trainers.rules.gradient_mean import GradientMean


class Sync:
    """Averages the gradients over all ranks, then calls the optimizer.

    The gradients are divided and copied into flat vectors, and are views of these while the optimizer reads them. The
    loss and the requests travel with the last vector, and are read from it unless `early` has sent them. `overlap`: the
    vectors are summed during the backward pass, otherwise after it, one for each type of parameter. `packed=False`
    sends every layer separately. A single rank sends nothing. `names`: of the parameters, for messages. `side`: the
    stream of the sums on a GPU, which `early` shares. `preconditioner`: its factors are summed too, and the optimizer's
    step calls it. `check`: is due where the ranks have agreed to store.
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
        names: Sequence[str] = (),
        packed: bool = True,
        overlap: bool = True,
        early: EarlyMeans | None = None,
        preconditioner: KFAC | None = None,
        side: SideStream | None = None,
        check: GradientCheck | None = None,
        timed: CallTimer = call_untimed,
        updating: CallTimer = call_untimed,
    ) -> None:
        self._params = list(params)
        self._update, self._overlap, self._early = updating(optimizer.step), overlap, early
        self._allreduce, self._preconditioner, self._check = allreduce, preconditioner, check
        self._mean: GradientMean | None = None
        if world > 1:
            known = names or [f"{number} of shape {tuple(p.shape)}" for number, p in enumerate(self._params)]
            sums = AsyncAllreduce(allreduce, side=side)
            self._mean = GradientMean(self._params, known, sums=sums, world=world, packed=packed, overlap=overlap)
            self._sum = timed(self._finish_sum)

    def begin_step(self, requests: Sequence[float] = (), /) -> None:
        """Do nothing: there is no gradient to send yet."""

    def mark_last_pass(self, values: Tensor | None = None, /) -> None:
        """Send `values` if they are early, and let the buckets be summed as soon as their gradients are complete."""
        if self._mean is not None:
            self._mean.divide()
        if self._early is not None and values is not None:
            self._early.begin(values.flatten())
        if self._mean is not None and self._overlap:
            if self._preconditioner is not None:
                self._preconditioner.begin_sums(self._mean.begin_sum)
            self._mean.begin()

    @torch.no_grad()
    def step(self, values: Tensor, /) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the means of the values over the ranks."""
        means = values if self._mean is None else self._average(values, self._mean)
        if self._early is not None and (read := self._early.read()) is not None:
            means = read.view_as(values)
        loss, *requests = means.flatten().tolist()
        if not all(map(math.isfinite, (loss, *requests))):
            return means  # leave weights and gradients unchanged for the diagnosis
        if self._check is not None and any(requests):
            self._check.is_due = True
        self._update()
        for p in self._params:
            p.grad = None
        return means

    def _average(self, values: Tensor, mean: GradientMean) -> Tensor:
        mean.fill(values)
        self._sum(mean)
        return mean.read(values.numel()).view_as(values)

    def _finish_sum(self, mean: GradientMean) -> None:
        if self._preconditioner is not None:
            self._preconditioner.wait_for_inputs()
        mean.sum(self._allreduce)
        if self._preconditioner is not None:
            self._preconditioner.finish_sums(self._allreduce)

    def wait_for_all(self) -> None:
        """Do nothing: all ranks take each step together."""

    def evaluation_weights(self) -> AbstractContextManager[None]:
        """Return an empty context: the model has the result already."""
        return nullcontext()

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return no ranks: the run ends when a rank is lost."""
        return {}

    def start_replica(self, steps: int) -> None:
        """Do nothing: all replicas are equal."""

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the state is empty."""
