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
from trainers.preconditioners.kfac import KFAC
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.early_means import EarlyMeans
from trainers.rules.flat_vector import PackedGradients
from trainers.rules.gradient_buckets import BucketReducer, divide_into_buckets
from trainers.rules.rule import EXTRA_VALUES


class Sync:
    """Averages the gradients over all ranks, then calls the optimizer.

    The gradients are divided and copied into flat vectors, and are views of these while the optimizer reads them. The
    last elements of the last vector carry the loss and the requests, unless `early` does. `overlap`: the vectors are
    summed during the backward pass, otherwise as one vector after it. `packed=False` sends every layer separately. A
    single rank sends nothing. `side`: the stream of the sums on a GPU, which `early` shares. `preconditioner`: its
    factors are summed too, and the optimizer's step calls it.
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
        early: EarlyMeans | None = None,
        preconditioner: KFAC | None = None,
        side: SideStream | None = None,
        timed: CallTimer = call_untimed,
        updating: CallTimer = call_untimed,
    ) -> None:
        self._params = [p for p in params if p.requires_grad]
        self._world, self._update, self._overlap = world, updating(optimizer.step), overlap
        self._allreduce, self._sum, self._early = allreduce, timed(self._finish_sum), early
        self._preconditioner = preconditioner
        if world > 1:
            *others, last = self._divide(packed=packed)
            buckets = [PackedGradients(part) for part in others]
            sums = AsyncAllreduce(allreduce, side=side)
            self._begin_sum = sums.start
            self._reducer = BucketReducer(buckets, factor=1 / world, begin=sums.start)
            self._last = PackedGradients(last, extra=EXTRA_VALUES)

    def _divide(self, *, packed: bool) -> list[list[Parameter]]:
        if not packed:
            return [[p] for p in reversed(self._params)]
        return divide_into_buckets(self._params) if self._overlap else [self._params]

    def begin_step(self, requests: Sequence[float] = (), /) -> None:
        """Do nothing: there is no gradient to send yet."""

    def mark_last_pass(self, values: Tensor | None = None, /) -> None:
        """Send `values` if they are early, and let the buckets be summed as soon as their gradients are complete."""
        if self._early is not None and values is not None:
            self._early.begin(values.flatten())
        if self._overlap and self._world > 1:
            if self._preconditioner is not None:
                self._preconditioner.begin_sums(self._begin_sum)
            self._reducer.begin()

    @torch.no_grad()
    def step(self, values: Tensor, /) -> Tensor:
        """Step along the mean gradient, clear the gradients, and return the means of the values over the ranks."""
        means = values if self._world == 1 else self._average(values)
        if self._early is not None and (read := self._early.read()) is not None:
            means = read.view_as(values)
        if not all(map(math.isfinite, means.flatten().tolist())):
            return means  # leave weights and gradients unchanged for the diagnosis
        self._update()
        for p in self._params:
            p.grad = None
        return means

    def _average(self, values: Tensor) -> Tensor:
        # divide before the sum, because a sum of n gradients may exceed the range of a 16-bit type
        flat_N = self._last.gather(1 / self._world)
        extra = flat_N[-EXTRA_VALUES:]
        extra.zero_()
        extra[: values.numel()] = values.flatten() / self._world
        self._sum(flat_N)
        return extra[: values.numel()].clone().view_as(values)

    def _finish_sum(self, flat_N: Tensor) -> None:
        if self._preconditioner is not None:
            self._preconditioner.wait_for_inputs()
        self._reducer.finish()
        self._allreduce(flat_N)
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
