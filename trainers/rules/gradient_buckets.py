"""Gradient buckets, which are summed while backward still computes earlier layers (Li et al., 2020).

Backward goes from the last layer to the first, so bucket 0 has the last layers. The division into buckets depends only
on the sizes of the parameters, and the buckets are summed in order, so the result is the same bits in every repeat.
"""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor
from torch.futures import Future
from torch.nn import Parameter

from trainers.collectives.runners.async_allreduce import Outcome, wait_for_sum
from trainers.rules.flat_vector import PackedGradients

BUCKET_BYTES = 25 << 20  # the default of DistributedDataParallel: on a fast link, latencies are negligible at this size
LAST_BYTES = 1 << 20  # small, because no computation overlaps the sum of the last bucket


def divide_into_buckets(params: Sequence[Parameter]) -> list[list[Parameter]]:
    """Divide parameters, given from the first layer to the last, into buckets; the last layers are in bucket 0."""
    buckets: list[list[Parameter]] = [[]]
    free_bytes = LAST_BYTES
    for p in params:
        size_bytes = p.numel() * p.element_size()
        if buckets[-1] and size_bytes > free_bytes:
            buckets.append([])
            free_bytes = BUCKET_BYTES
        buckets[-1].append(p)
        free_bytes -= size_bytes
    return buckets[::-1]


class BucketReducer:
    """Sums each bucket as soon as backward has completed its gradients and the gradients of all buckets before it.

    `begin` starts the sum over the ranks of a bucket's vector, which holds the gradients times `factor`.
    """

    def __init__(
        self, buckets: Sequence[PackedGradients], *, factor: float, begin: Callable[[Tensor], Future[Outcome]]
    ) -> None:
        self._buckets, self._factor, self._begin_sum = buckets, factor, begin
        self._missing: list[int] = []  # number of gradients of each bucket; empty: the pass is not the step's last
        self._begun: list[Future[Outcome]] = []
        for number, bucket in enumerate(buckets):
            for p in bucket.params:
                hook = partial(self._count_gradient, number)
                p.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]  # torch does not annotate it

    def begin(self) -> None:
        """Start to count gradients: the backward pass that follows is the step's last."""
        self._missing = [len(bucket.params) for bucket in self._buckets]

    def finish(self) -> None:
        """Start the sums that have not begun, for example of unused parameters, and wait for all sums."""
        while len(self._begun) < len(self._buckets):
            self._begin_next()
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
