"""Gradients in buckets, whose sums begin while backward still computes those of the layers before (Li et al., 2020).

Backward comes from the last layer to the first, so bucket 0 has the last layers. Which parameters share a bucket
depends on their sizes alone, and buckets are summed in their order: the same bits on every rank and every repeat.
"""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor
from torch.futures import Future
from torch.nn import Parameter

from trainers.collectives.runners.async_allreduce import Outcome, summed
from trainers.rules.flat_vector import Packed

BUCKET_BYTES = 25 << 20  # DistributedDataParallel's: a fast link spends its time on bytes, not on latencies
LAST_BYTES = 1 << 20  # nothing hides the last bucket's sum, so it is a small one


def divided(params: Sequence[Parameter]) -> list[list[Parameter]]:
    """Put parameters, which come first layer first, into buckets, the last layers' first."""
    buckets: list[list[Parameter]] = [[]]
    room_bytes = LAST_BYTES
    for p in params:
        size_bytes = p.numel() * p.element_size()
        if buckets[-1] and size_bytes > room_bytes:
            buckets.append([])
            room_bytes = BUCKET_BYTES
        buckets[-1].append(p)
        room_bytes -= size_bytes
    return buckets[::-1]


class Reducer:
    """Sums each bucket as soon as backward has completed its gradients and those of the buckets before it.

    `begin`: begins the sum over the ranks of a bucket's vector, of gradients times `factor`.
    """

    def __init__(self, buckets: Sequence[Packed], *, factor: float, begin: Callable[[Tensor], Future[Outcome]]) -> None:
        self._buckets, self._factor, self._begin_sum = buckets, factor, begin
        self._awaited: list[int] = []  # gradients of each bucket; none: the pass is not the step's last
        self._begun: list[Future[Outcome]] = []
        for number, bucket in enumerate(buckets):
            for p in bucket.params:
                p.register_post_accumulate_grad_hook(partial(self._completed, number))  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """The backward pass that follows is the step's last."""
        self._awaited = [len(bucket.params) for bucket in self._buckets]

    def finish(self) -> None:
        """Sum what no last pass has completed as well, and wait for all."""
        while len(self._begun) < len(self._buckets):
            self._begin_next()
        begun, self._begun, self._awaited = self._begun, [], []
        for future in begun:
            summed(future)

    def _completed(self, number: int, _: Tensor) -> None:
        if not self._awaited:
            return
        self._awaited[number] -= 1
        while len(self._begun) < len(self._buckets) and not self._awaited[len(self._begun)]:
            self._begin_next()

    def _begin_next(self) -> None:
        self._begun.append(self._begin_sum(self._buckets[len(self._begun)].gather(self._factor)))
