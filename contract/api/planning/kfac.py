"""The predicted cost of K-FAC, as the API returns it."""

from pydantic import Field

from contract.described_model import DescribedModel


class KFACWords(DescribedModel):
    """Numbers that a rank sends, besides those of the gradients' all-reduce."""

    factors: int = Field(examples=[72_000_000])
    """Numbers of the vector that all ranks sum at an update of the factors."""
    inverses: int = Field(examples=[9_000_000])
    """Numbers that a rank sends at an update of the inverses."""
    gradients: int = Field(examples=[0])
    """Numbers that a rank sends at every step; 0 for the variant `comm_opt`."""


class KFACPriceView(DescribedModel):
    """The predicted time of a step with K-FAC; each part of K-FAC is a mean over its steps."""

    world: int = Field(examples=[32])
    """Number of ranks: hosts x ranks_per_host."""
    words: KFACWords
    """What the ranks send."""
    compute_s: float = Field(examples=[0.26])
    """Forward and backward, in seconds."""
    gradient_sum_s: float = Field(examples=[0.041])
    """All-reduce of the gradients by the cheapest plan, in seconds."""
    factors_s: float = Field(examples=[0.012])
    """Statistics of the layers, in seconds per step."""
    factor_sum_s: float = Field(examples=[0.009])
    """All-reduce of the factors by the cheapest plan, in seconds per step."""
    inverses_s: float = Field(examples=[0.02])
    """Decompositions of the busiest rank, in seconds per step."""
    inverse_gather_s: float = Field(examples=[0.002])
    """Exchange of the decompositions, in seconds per step."""
    precondition_s: float = Field(examples=[0.004])
    """Products with the inverses, in seconds."""
    gradient_gather_s: float = Field(examples=[0.0])
    """Exchange of the preconditioned gradients, in seconds."""
    plain_s: float = Field(examples=[0.3])
    """A step without K-FAC, in seconds."""
    ratio: float = Field(examples=[1.16])
    """A step with K-FAC as a multiple of a step without."""
    pays_below: float = Field(examples=[0.86])
    """K-FAC is faster in total if it needs less than this share of the epochs: 1 / ratio."""
