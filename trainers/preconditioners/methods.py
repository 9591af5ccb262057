"""The two ways to apply the damped inverse of a factor pair A (inputs), G (outputs) to a gradient V of R x C.

Eigendecomposition, A = Q_A diag(v_A) Q_A^T and G likewise (Grosse & Martens, 2016; Pauloski et al., 2020):

    V1 = Q_G^T V Q_A,   V2 = V1 / (v_G v_A^T + damping),   result Q_G V2 Q_A^T

which is (G x A + damping I)^-1 without an approximation. Inverses (Martens & Grosse, 2015, section 6.3):

    (G + sqrt(damping) / pi I)^-1  V  (A + pi sqrt(damping) I)^-1,   pi^2 = (tr A / C) / (tr G / R)

whose product has further terms of the damping: pi divides it so that they are small. Inverses are computed in float64,
because Cholesky's factorization of a float32 factor may fail; with a tiny damping it fails there too, and the
eigenvalues below 0 are raised to 0.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.preconditioners.options import Method
from trainers.preconditioners.packing import pack, unpack
from trainers.preconditioners.words import inverse_words


@dataclass(frozen=True)
class Decomposition:
    """What a method knows about a factor; a diagonal factor has values alone."""

    values: Tensor | None = None  # (n): eigenvalues, or the diagonal of the inverse of a diagonal factor
    matrix: Tensor | None = None  # (n, n): eigenvectors, or the inverse


class Decomposer(ABC):
    """Decomposes factors, and applies the decompositions of a pair to a gradient."""

    method: Method

    def words(self, n: int) -> int:
        """Return the numbers of a decomposition in a message."""
        return inverse_words(n, method=self.method)

    @abstractmethod
    def decompose(self, factor_NN: Tensor, damping: float) -> Tensor:
        """Return the decomposition as a flat vector; `damping` is this factor's own."""

    @abstractmethod
    def read(self, flat: Tensor, n: int) -> Decomposition:
        """Return the decomposition of a flat vector."""

    @abstractmethod
    def of_diagonal(self, factor_N: Tensor, damping: float) -> Decomposition:
        """Return the decomposition of a diagonal factor."""

    @abstractmethod
    def apply(self, grad_RC: Tensor, inputs: Decomposition, outputs: Decomposition, *, damping: float) -> Tensor:
        """Return the preconditioned gradient (R, C)."""


class Eigen(Decomposer):
    """Eigendecompositions; the damping may change without a new decomposition."""

    method: Method = "eigen"

    def decompose(self, factor_NN: Tensor, damping: float) -> Tensor:
        """Return eigenvalues and eigenvectors."""
        values_N, vectors_NN = eigen(factor_NN)
        return torch.cat([values_N.clamp_(min=0), vectors_NN.flatten()])  # rounding makes small ones negative

    def read(self, flat: Tensor, n: int) -> Decomposition:
        """Return both, as copies: the message is not kept."""
        return Decomposition(flat[:n].clone(), flat[n:].view(n, n).clone())

    def of_diagonal(self, factor_N: Tensor, damping: float) -> Decomposition:
        """Return the diagonal: its eigenvectors are the unit vectors."""
        return Decomposition(factor_N.clone())

    def apply(self, grad_RC: Tensor, inputs: Decomposition, outputs: Decomposition, *, damping: float) -> Tensor:
        """Divide by the eigenvalues of the Kronecker product in its eigenvectors' basis."""
        assert inputs.values is not None
        assert outputs.values is not None
        assert outputs.matrix is not None
        turned_RC = outputs.matrix.T @ grad_RC
        if inputs.matrix is not None:
            turned_RC = turned_RC @ inputs.matrix
        turned_RC /= torch.outer(outputs.values, inputs.values).add_(damping)
        result_RC = outputs.matrix @ turned_RC
        return result_RC if inputs.matrix is None else result_RC @ inputs.matrix.T


class Inverse(Decomposer):
    """Inverses of the damped factors."""

    method: Method = "inverse"

    def decompose(self, factor_NN: Tensor, damping: float) -> Tensor:
        """Return the upper half of the inverse."""
        damped_NN = factor_NN.double()
        damped_NN.diagonal().add_(damping)
        root_NN, failure = torch.linalg.cholesky_ex(damped_NN)
        inverse_NN = _invert(factor_NN.double(), damping) if bool(failure) else torch.cholesky_inverse(root_NN)
        return pack(inverse_NN.to(factor_NN.dtype))

    def read(self, flat: Tensor, n: int) -> Decomposition:
        """Return the inverse."""
        return Decomposition(matrix=unpack(flat, n))

    def of_diagonal(self, factor_N: Tensor, damping: float) -> Decomposition:
        """Return the inverse of the damped diagonal."""
        return Decomposition(1 / (factor_N + damping))

    def apply(self, grad_RC: Tensor, inputs: Decomposition, outputs: Decomposition, *, damping: float) -> Tensor:
        """Multiply by both inverses, which contain the damping of the last update."""
        assert outputs.matrix is not None
        result_RC = outputs.matrix @ grad_RC
        if inputs.matrix is not None:
            return result_RC @ inputs.matrix
        assert inputs.values is not None
        return result_RC * inputs.values


def eigen(factor_NN: Tensor) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of a finite symmetric matrix.

    LAPACK's iteration does not converge in float32 for some factors; it is tried again in float64.
    """
    try:
        values_N, vectors_NN = torch.linalg.eigh(factor_NN)
    except RuntimeError:  # of which torch.linalg.LinAlgError is one
        values_N, vectors_NN = (part.to(factor_NN.dtype) for part in torch.linalg.eigh(factor_NN.double()))
    return values_N, vectors_NN


def _invert(factor_NN: Tensor, damping: float) -> Tensor:
    values_N, vectors_NN = eigen(factor_NN)
    inverse_NN: Tensor = (vectors_NN / (values_N.clamp_(min=0) + damping)) @ vectors_NN.T
    return inverse_NN


def make_decomposer(method: Method) -> Decomposer:
    """Return the decomposer of a method."""
    return Eigen() if method == "eigen" else Inverse()


def divide_damping(factor: Tensor, other: Tensor, damping: float) -> float:
    """Return the damping of one of two factors, each a matrix or a diagonal; that of both multiplied is `damping`."""
    mean, of_other = _mean_diagonal(factor), _mean_diagonal(other)
    pi = (mean / of_other) ** 0.5 if mean > 0 and of_other > 0 else 1.0
    return float(pi * damping**0.5)


def _mean_diagonal(factor: Tensor) -> float:
    return float((factor if factor.dim() == 1 else factor.diagonal()).mean())
