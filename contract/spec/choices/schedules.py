"""The learning rate over a run: a warm-up to a peak, and how the rate falls from there."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, NonNegative, Positive


class Stage(Spec):
    """From `epoch` on the peak rate is `rate`: what goes with a batch that grows (Mikami et al., 2018)."""

    epoch: Positive
    rate: Positive


class Scaling(Spec):
    """The peak rates are for `reference_batch` and follow the batch, linearly (Goyal et al., 2017) or as its root."""

    reference_batch: Count
    rule: Literal["linear", "sqrt"] = "linear"

    @property
    def power(self) -> float:
        """Of batch / reference_batch, by which rates are multiplied."""
        return {"linear": 1.0, "sqrt": 0.5}[self.rule]


class _Schedule(Spec):
    """What all have in common: the peak, and the warm-up to it."""

    rate: Positive
    stages: list[Stage] = []  # later peaks
    scaling: Scaling | None = None  # none: the rates are taken as they stand
    warmup_epochs: NonNegative = 0.0
    warmup: Literal["linear", "quadratic"] = "linear"
    start_rate: NonNegative = 0.0  # never scaled; with `scaling`, the peak where that is less

    def peak(self, batch: int) -> float:
        """The highest rate, at a global batch."""
        return max([self.rate, *(stage.rate for stage in self.stages)]) * self.scale(batch)

    def peak_at(self, epoch: float, batch: int) -> float:
        """The peak rate that holds in an epoch, at its global batch."""
        return [self.rate, *(stage.rate for stage in self.stages if stage.epoch <= epoch)][-1] * self.scale(batch)

    def scale(self, batch: int) -> float:
        """What the rates are multiplied by at a global batch."""
        return 1.0 if self.scaling is None else float((batch / self.scaling.reference_batch) ** self.scaling.power)


class Constant(_Schedule):
    """A warm-up, then one rate."""

    kind: Literal["constant"] = "constant"


class Polynomial(_Schedule):
    """A warm-up, then end_rate + (rate - end_rate) x (1 - t/T)^power."""

    kind: Literal["polynomial"] = "polynomial"
    power: Positive = 2.0
    end_rate: NonNegative = 0.0
    decay_from: Literal["start", "warmup"] = "start"  # t and T count from the run's start (Caffe) or the warm-up's end


class Step(_Schedule):
    """A warm-up, then rate x factor^k, k the milestones passed (Goyal et al., 2017)."""

    kind: Literal["step"] = "step"
    milestones: Annotated[list[Positive], Field(min_length=1)]  # epochs
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.1


class Cosine(_Schedule):
    """A warm-up, then half a cosine from rate to end_rate over the epochs that are left."""

    kind: Literal["cosine"] = "cosine"
    end_rate: NonNegative = 0.0


Schedule = Annotated[Constant | Polynomial | Step | Cosine, Field(discriminator="kind")]
