"""The sizes of the Kronecker factors of a net. This module loads no torch, because the API prices K-FAC with it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BlockShape:
    """The weights of a layer, or of one group of a convolution, as a matrix of `outputs` rows and `inputs` columns.

    The column of the bias is counted. `is_diagonal`: the factor of the inputs is diagonal, as an embedding's, whose
    inputs are one-hot vectors.
    """

    name: str
    inputs: int
    outputs: int
    is_diagonal: bool = False

    @property
    def weights(self) -> int:
        """The number of elements of the gradient."""
        return self.inputs * self.outputs

    @property
    def factor_words(self) -> tuple[int, int]:
        """The numbers that determine the factors of the inputs and of the outputs: a symmetric matrix's upper half."""
        return self.inputs if self.is_diagonal else half(self.inputs), half(self.outputs)

    @property
    def costs(self) -> tuple[int, int]:
        """The costs of the decompositions of both factors, in the unit of n^3; that of a diagonal factor is 0."""
        return 0 if self.is_diagonal else self.inputs**3, self.outputs**3


def half(n: int) -> int:
    """Return the number of elements of the upper half of an n x n matrix, with its diagonal."""
    return n * (n + 1) // 2


def total_factor_words(blocks: Sequence[BlockShape]) -> int:
    """Return the numbers of all factors, which an update of the factors sums over the ranks."""
    return sum(sum(block.factor_words) for block in blocks)
