"""The spec of the learning-rate schedule: a warm-up to a peak, and a decay."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import MAX_STAGES, Count, NonNegative, Positive, PositiveFactor


class RateStage(Spec):
    """The peak rate from `epoch` on, for a batch that grows (Mikami et al., 2018)."""

    epoch: Positive
    rate: PositiveFactor


class Scaling(Spec):
    """Scaling of the peak rates by batch / reference_batch, linear (Goyal et al., 2017) or by its square root."""

    reference_batch: Count
    rule: Literal["linear", "sqrt"] = "linear"

    @property
    def power(self) -> float:
        """The exponent of batch / reference_batch."""
        return {"linear": 1.0, "sqrt": 0.5}[self.rule]


class _Schedule(Spec):
    """The fields of every schedule: the peak, and the warm-up to the peak."""

    rate: PositiveFactor
    stages: Annotated[list[RateStage], Field(max_length=MAX_STAGES)] = []  # later peaks
    scaling: Scaling | None = None  # None: no scaling
    warmup_epochs: NonNegative = 0.0
    warmup: Literal["linear", "quadratic"] = "linear"
    start_rate: NonNegative = 0.0  # not scaled; at most the scaled peak

    def peak(self, batch: int) -> float:
        """Return the highest rate of all stages at a global batch."""
        return max([self.rate, *(stage.rate for stage in self.stages)]) * self.scale(batch)

    def scale(self, batch: int) -> float:
        """Return the factor of the rates at a global batch."""
        return 1.0 if self.scaling is None else float((batch / self.scaling.reference_batch) ** self.scaling.power)


class Constant(_Schedule):
    """A warm-up, then a constant rate."""

    kind: Literal["constant"] = "constant"


class Polynomial(_Schedule):
    """A warm-up, then end_rate + (rate - end_rate) x (1 - t/T)^power."""

    kind: Literal["polynomial"] = "polynomial"
    power: Positive = 2.0
    end_rate: NonNegative = 0.0
    decay_from: Literal["start", "warmup"] = (
        "start"  # t and T start at the start of the run (Caffe) or at the end of the warm-up
    )


class Step(_Schedule):
    """A warm-up, then rate x factor^k after k milestones (Goyal et al., 2017)."""

    kind: Literal["step"] = "step"
    milestones: Annotated[list[Positive], Field(min_length=1, max_length=MAX_STAGES)]  # epochs
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.1


class Cosine(_Schedule):
    """A warm-up, then half a cosine from rate to end_rate over the remaining epochs."""

    kind: Literal["cosine"] = "cosine"
    end_rate: NonNegative = 0.0


Schedule = Annotated[Constant | Polynomial | Step | Cosine, Field(discriminator="kind")]
