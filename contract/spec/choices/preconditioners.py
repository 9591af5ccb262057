"""The spec of the preconditioner, which changes the gradients between the backward pass and the optimizer."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import MAX_STAGES, Count, Fraction, PositiveFactor


class KFACStage(Spec):
    """Other intervals or another damping from a step on; null: as before."""

    step: Count = Field(examples=[500])
    """First step of the stage, counted from 0."""
    factor_every: Count | None = Field(default=None, examples=[50])
    """Steps between two updates of the factors."""
    inverse_every: Count | None = Field(default=None, examples=[500])
    """Steps between two updates of the inverses."""
    damping: PositiveFactor | None = Field(default=None, examples=[0.003])
    """Damping."""


class KFAC(Spec):
    """K-FAC, natural-gradient steps by Kronecker factors, on all ranks (Pauloski et al., 2020).

    It changes the gradients of linear layers, convolutions and embeddings; other weights take the plain gradient.
    """

    kind: Literal["kfac"] = "kfac"
    """Selects K-FAC."""
    factor_every: Count = 10
    """Steps between two updates of the factors, from the first step on."""
    inverse_every: Count = 100
    """Steps between two updates of the inverses, from the first step on; at least `factor_every`."""
    stages: Annotated[list[KFACStage], Field(max_length=MAX_STAGES)] = []
    """Other intervals and other damping from later steps on."""
    damping: PositiveFactor = 0.003
    """Number that is added to the eigenvalues of the Fisher matrix of each layer."""
    decay: Fraction = 0.95
    """Decay of the running averages of the factors."""
    kl_clip: PositiveFactor | None = 0.01
    """Bound of rate^2 times the products of gradients and steps, by which all steps are scaled; null: no bound."""
    method: Literal["eigen", "inverse"] = "eigen"
    """eigen: eigendecompositions of the factors, to which the damping is added exactly. inverse: inverses of both
    damped factors, which cost less and whose product contains the damping approximately."""
    variant: Literal["comm_opt", "layer_wise", "hybrid"] = "comm_opt"
    """comm_opt: every rank has the inverses of all layers; no message between two updates. layer_wise: each rank has
    those of its own layers, which takes the least memory, and sends the results at every step. hybrid: a `fraction` of
    the ranks has those of each layer."""
    fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, examples=[0.5])
    """Of the variant hybrid: the fraction of the ranks that have the inverses of a layer, rounded down to a divisor of
    the number of ranks."""
    factor_dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    """Format of the factors in messages between ranks; their averages are float32."""
    skip: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)] = Field(
        default=[], examples=[["classifier", "Embedding"]]
    )
    """Layers without K-FAC, by name (`*`: any letters) or by kind: Linear, Conv1d, Conv2d, Conv3d, Embedding."""
    largest_factor: Count | None = Field(default=None, examples=[4096])
    """Layers with a factor of more rows than this are without K-FAC; null: no limit."""

    @property
    def holding_fraction(self) -> float:
        """The fraction of the ranks that have the inverses of a layer; 0 is one rank."""
        return {"comm_opt": 1.0, "layer_wise": 0.0}.get(self.variant, self.fraction or 0.0)


Preconditioner = KFAC
