"""Packing: the upper half of a symmetric matrix as a flat vector, row by row, and back."""

from functools import lru_cache

import torch
from torch import Tensor

from trainers.preconditioners.shapes import half


def pack(matrix_NN: Tensor) -> Tensor:
    """Return the upper half of a symmetric matrix, half(N) numbers."""
    return matrix_NN.masked_select(_upper(len(matrix_NN), matrix_NN.device))


def unpack(half_H: Tensor, n: int) -> Tensor:
    """Return the symmetric n x n matrix."""
    assert half_H.numel() == half(n)
    upper_NN = half_H.new_zeros(n, n).masked_scatter_(_upper(n, half_H.device), half_H)
    return upper_NN + upper_NN.triu(1).T


@lru_cache(maxsize=64)
def _upper(n: int, device: torch.device) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool, device=device).triu()
