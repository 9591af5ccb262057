"""Gradient buckets, which are summed while backward still computes earlier layers (Li et al., 2020).

Backward goes from the last layer to the first, so bucket 0 has the last layers. The division into buckets depends only
on the sizes and types of the parameters, and the buckets are summed in order, so the result is the same bits in every
repeat.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.futures import Future
from torch.nn import Parameter
from torch.utils.hooks import RemovableHandle

from trainers.collectives.runners.async_allreduce import Outcome, wait_for_sum
from trainers.rules.flat_vector import PackedGradients

BUCKET_BYTES = 25 << 20  # the default of DistributedDataParallel: on a fast link, latencies are negligible at this size
LAST_BYTES = 1 << 20  # of each type; small, because no computation overlaps the sum of the last bucket

BeginSum = Callable[[Tensor], Future[Outcome]]  # starts the sum of a vector over the ranks


def divide_into_buckets(params: Sequence[Parameter]) -> list[list[Parameter]]:
    """Divide parameters, given from the first layer to the last, into buckets; the last layers are in bucket 0.

    The parameters of a bucket have one type. The buckets are in the order in which backward completes them.
    """
    buckets: list[list[Parameter]] = []
    filling: dict[torch.dtype, list[Parameter]] = {}  # the bucket of each type that may have room
    free_bytes: dict[torch.dtype, int] = {}
    for p in params:
        size_bytes = p.numel() * p.element_size()
        if p.dtype not in filling or size_bytes > free_bytes[p.dtype]:
            free_bytes[p.dtype] = BUCKET_BYTES if p.dtype in filling else LAST_BYTES
            filling[p.dtype] = []
            buckets.append(filling[p.dtype])
        filling[p.dtype].append(p)
        free_bytes[p.dtype] -= size_bytes
    return buckets[::-1]


def divide_by_type(params: Sequence[Parameter]) -> list[list[Parameter]]:
    """Divide parameters into one bucket for each type; the type of the first parameter is last."""
    by_type: dict[torch.dtype, list[Parameter]] = {}
    for p in params:
        by_type.setdefault(p.dtype, []).append(p)
    return list(by_type.values())[::-1]


class BucketReducer:
    """Sums each bucket as soon as backward has completed its gradients and the gradients of all buckets before it.

    A bucket's vector holds the gradients times `factor`.
    """

    def __init__(self, buckets: Sequence[PackedGradients], *, factor: float, begin_sum: BeginSum) -> None:
        self._buckets, self._factor, self._begin_sum = buckets, factor, begin_sum
        self._missing: list[int] = []  # number of gradients of each bucket; empty: the pass is not the step's last
        self._begun: list[Future[Outcome]] = []
        self._watched: list[list[bool]] = []
        self._hooks: list[list[RemovableHandle]] = []
        self.watch()

    def watch(self) -> None:
        """Watch the parameters that the next pass trains: a frozen one gets no gradient."""
        watched = [[p.requires_grad for p in bucket.params] for bucket in self._buckets]
        if watched != self._watched:
            self.remove()
            self._watched = watched
            self._hooks = [self._hook(number, bucket) for number, bucket in enumerate(self._buckets)]

    def _hook(self, number: int, bucket: PackedGradients) -> list[RemovableHandle]:
        hook = partial(self._count_gradient, number)
        trained = [p for p in bucket.params if p.requires_grad]
        return [p.register_post_accumulate_grad_hook(hook) for p in trained]  # type: ignore[no-untyped-call]  # torch does not annotate it

    def remove(self) -> None:
        """Watch the backward pass no more."""
        for handle in [handle for of_bucket in self._hooks for handle in of_bucket]:
            handle.remove()

    def begin(self) -> None:
        """Start to count gradients: the backward pass that follows is the step's last."""
        self._missing = [len(of_bucket) for of_bucket in self._hooks]

    def begin_rest(self) -> None:
        """Start the sums that have not begun, for example of unused parameters."""
        while len(self._begun) < len(self._buckets):
            self._begin_next()

    def wait(self) -> None:
        """Wait for all sums."""
        begun, self._begun, self._missing = self._begun, [], []
        for future in begun:
            wait_for_sum(future)

    def _count_gradient(self, number: int, _: Tensor) -> None:
        if not self._missing:
            return
        self._missing[number] -= 1
        while len(self._begun) < len(self._buckets) and not self._missing[len(self._begun)]:
            self._begin_next()

    def _begin_next(self) -> None:
        self._begun.append(self._begin_sum(self._buckets[len(self._begun)].gather(self._factor)))
