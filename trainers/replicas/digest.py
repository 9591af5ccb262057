"""A digest of a tensor's elements, computed where the tensor is: equal tensors have equal digests on all ranks.

    d(w) = sum_i m_i w_i  mod 2^64

over the words w_i of the memory, with odd pseudorandom multipliers m_i (splitmix64: Steele, Lea & Flood, 2014). Of a
tensor with more words than there are multipliers the words are divided into rows, and d is that of the rows' digests.

The digest notices the change of any element, exchanged elements, the sign of a zero and the bits of a NaN. Different
tensors have the same digest with a probability of about 2^-32, if the difference was not made for that: it is no
protection against intent. Sums of integers do not depend on their order, so the digest does not depend on threads.
"""

from functools import cache

import numpy as np
import torch
from torch import Tensor

MULTIPLIERS = 1 << 13  # 64 KiB, which remain in a processor's cache
ROWS = 4, 256  # that a CPU, and a GPU, multiplies at once; the products take 8 bytes per word
WORDS = {1: torch.uint8, 2: torch.int16}  # by the size of an element; larger elements are words of 4 bytes


@torch.no_grad()
def digest(tensor: Tensor) -> Tensor:
    """Return the digest of the elements in their logical order, as one int64 on the tensor's device.

    Neither strides nor device matter. No more than the tensor is copied, and only if it is not contiguous.
    """
    words_N = _words(tensor.detach())
    multiplier_M = _multipliers(words_N.device)
    while len(words_N) > MULTIPLIERS:
        words_N = _row_digests(words_N, multiplier_M).view(torch.int32)
    return (words_N * multiplier_M[: len(words_N)]).sum()


def _words(x: Tensor) -> Tensor:
    """Return the memory of the elements as integers; 64-bit words would hide two changed signs."""
    if x.layout is not torch.strided:
        x = x.to_dense()
    if x.is_complex():
        x = torch.view_as_real(x.resolve_conj())
    flat_N = x.resolve_neg().reshape(-1)
    flat_N = flat_N if flat_N.is_contiguous() else flat_N.contiguous()  # an expanded element
    return flat_N.view(WORDS.get(flat_N.element_size(), torch.int32))


def _row_digests(words_N: Tensor, multiplier_M: Tensor) -> Tensor:
    rows = len(words_N) // MULTIPLIERS
    words_RM = words_N[: rows * MULTIPLIERS].view(rows, MULTIPLIERS)
    rest_n = words_N[rows * MULTIPLIERS :]
    together = ROWS[words_N.device.type != "cpu"]
    sums = [(part_PM * multiplier_M).sum(dim=1) for part_PM in torch.split(words_RM, together)]
    return torch.cat([*sums, (rest_n * multiplier_M[: len(rest_n)]).sum().view(1)])


@cache
def _multipliers(device: torch.device) -> Tensor:
    mixed = np.arange(1, MULTIPLIERS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return torch.from_numpy((mixed ^ mixed >> np.uint64(31) | np.uint64(1)).view(np.int64)).to(device)
