"""Buffers for parts that arrive before their place is free; kept and used again."""

import torch
from torch import Tensor


class Staging:
    """Byte buffers by size, powers of two."""

    def __init__(self) -> None:
        self._free: dict[int, list[Tensor]] = {}

    def take(self, nbytes: int) -> Tensor:
        """Return a buffer of at least `nbytes`."""
        size = 1 << max(6, (nbytes - 1).bit_length())
        free = self._free.setdefault(size, [])
        return free.pop() if free else torch.empty(size, dtype=torch.uint8)

    def give_back(self, buffer_B: Tensor) -> None:
        """Let the buffer be used again."""
        self._free[buffer_B.numel()].append(buffer_B)


def as_memory(x_N: Tensor) -> memoryview:
    """Return the vector's own bytes."""
    return x_N.detach().view(torch.uint8).numpy().data
