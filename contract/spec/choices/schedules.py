"""The spec of the learning-rate schedule: a warm-up to a peak, and a decay."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported
from contract.spec.numbers import MAX_STAGES, Count, NonNegative, Positive, PositiveFactor


class RateStage(Spec):
    """The peak rate from `epoch` on, for a batch that grows (Mikami et al., 2018)."""

    epoch: Positive = Field(examples=[30.0])
    """First epoch of the stage."""
    rate: PositiveFactor = Field(examples=[9.5])
    """Peak rate of the stage, before scaling."""


class Scaling(Spec):
    """Scaling of the peak rates by batch / reference_batch, linear (Goyal et al., 2017) or by its square root."""

    reference_batch: Count = Field(examples=[256])
    """The global batch for which the rates are meant."""
    rule: Literal["linear", "sqrt"] = "linear"
    """Factor of the rates: batch / reference_batch, or its square root."""

    @property
    def power(self) -> float:
        """The exponent of batch / reference_batch."""
        return {"linear": 1.0, "sqrt": 0.5}[self.rule]


class _Schedule(Spec):
    """The fields of every schedule: the peak, and the warm-up to the peak."""

    rate: PositiveFactor = Field(examples=[7.0])
    """Peak of the learning rate, before scaling."""
    stages: Annotated[list[RateStage], Field(max_length=MAX_STAGES)] = []
    """Other peaks from later epochs on."""
    scaling: Scaling | None = None
    """Scaling of the peaks by the batch; null: no scaling."""
    warmup_epochs: NonNegative = 0.0
    """Length of the warm-up in epochs; 0: no warm-up."""
    warmup: Literal["linear", "quadratic"] = "linear"
    """Form of the warm-up."""
    start_rate: NonNegative = 0.0
    """Rate at the start of the warm-up, not scaled; at most the scaled peak."""

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
    """Exponent of the decay."""
    end_rate: NonNegative = 0.0
    """Rate at the end of the run, not scaled."""
    decay_from: Literal["start", "warmup"] = "start"
    """Where t and T begin: at the start of the run (Caffe) or at the end of the warm-up."""


class Step(_Schedule):
    """A warm-up, then rate x factor^k after k milestones (Goyal et al., 2017)."""

    kind: Literal["step"] = "step"
    milestones: list[Positive] = Field(min_length=1, max_length=MAX_STAGES, examples=[[30.0, 60.0, 80.0]])
    """Epochs at which the rate falls, ascending."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Factor of the rate at each milestone."""


class Cosine(_Schedule):
    """A warm-up, then half a cosine from rate to end_rate over the remaining epochs."""

    kind: Literal["cosine"] = "cosine"
    end_rate: NonNegative = 0.0
    """Rate at the end of the run, not scaled."""


class ImportedSchedule(Imported):
    """A user's schedule: the function gets `epochs`, and returns `rate(epoch)`, the learning rate of the next step.

    `epoch` is the number of completed epochs, with a fraction. The rate depends on nothing else.
    """


EngineSchedule = Constant | Polynomial | Step | Cosine
Schedule = Annotated[EngineSchedule | ImportedSchedule, Field(discriminator="kind")]
