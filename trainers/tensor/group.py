"""Group: the interface of the collectives among the ranks of one line or plane of a mesh."""

from typing import Protocol

from torch import Tensor


class Group(Protocol):
    """The collectives of `size` ranks, of which this one is number `index`; all ranks call them in the same order.

    Blocks are along the first dimension: a tensor of n blocks has n times the rows of a block.
    """

    size: int
    index: int

    def all_gather(self, x: Tensor, /) -> Tensor:
        """Return the tensors of all ranks, concatenated in their order."""
        ...

    def reduce_scatter(self, x: Tensor, /) -> Tensor:
        """Return this rank's block of the sum over the ranks."""
        ...

    def all_reduce(self, x: Tensor, /) -> Tensor:
        """Return the sum over the ranks, the same bits on every rank."""
        ...

    def broadcast(self, x: Tensor, root: int, /) -> Tensor:
        """Return the tensor of the rank `root`; the others' have the same shape."""
        ...

    def reduce(self, x: Tensor, root: int, /) -> Tensor:
        """Return the sum over the ranks on the rank `root`; what the others get has no meaning."""
        ...
