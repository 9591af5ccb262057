"""A pool of reusable buffers for parts that arrive before the vector can take them."""

import torch
from torch import Tensor


class BufferPool:
    """Lend byte buffers; their sizes are powers of two."""

    def __init__(self) -> None:
        self._free: dict[int, list[Tensor]] = {}

    def take(self, nbytes: int) -> Tensor:
        """Return a buffer of at least `nbytes`."""
        size = 1 << max(6, (nbytes - 1).bit_length())
        free = self._free.setdefault(size, [])
        return free.pop() if free else torch.empty(size, dtype=torch.uint8)

    def give_back(self, buffer_B: Tensor) -> None:
        """Return a buffer to the pool."""
        self._free[buffer_B.numel()].append(buffer_B)


def byte_view(x_N: Tensor) -> memoryview:
    """Return the vector's memory as bytes, without a copy."""
    return x_N.detach().view(torch.uint8).numpy().data
