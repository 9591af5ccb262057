"""Tensors in memory that worker processes share with their rank: they see its changes and receive no copy."""

from torch import Tensor


def to_shared_memory(tensor: Tensor) -> Tensor:
    """Move a tensor into shared memory, in place; return it."""
    tensor.share_memory_()  # type: ignore[no-untyped-call]  # torch has no types for it
    return tensor
