"""Decompositions of factors on which float32 fails."""

from typing import Any

import pytest
import torch
from torch import Tensor

from trainers.preconditioners.methods import eigen


def test_a_factor_on_which_float32_does_not_converge_is_decomposed_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: LAPACK's iteration for float32 fails, as it was seen with GoogLeNet."""
    real = torch.linalg.eigh

    def failing(matrix: Tensor, *arguments: Any) -> Any:
        if matrix.dtype is torch.float32:
            raise RuntimeError("linalg.eigh: the algorithm failed to converge")
        return real(matrix, *arguments)

    monkeypatch.setattr(torch.linalg, "eigh", failing)
    rows = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    factor = rows.T @ rows / 20
    values, vectors = eigen(factor)
    assert values.dtype is vectors.dtype is torch.float32
    torch.testing.assert_close(vectors @ values.diag() @ vectors.T, factor, atol=1e-6, rtol=1e-5)
