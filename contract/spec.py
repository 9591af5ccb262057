"""What a run is: the one document that every room reads."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from contract.base import Spec
from contract.checkpoint import Checkpoint
from contract.choices.collectives import Collective, Native
from contract.choices.data import Data, Digits
from contract.choices.models import ConvNet, Model
from contract.choices.optimizers import SGD, Optimizer
from contract.choices.rules import Rule, Sync
from contract.choices.schedules import Schedule
from contract.course import Course
from contract.elastic import averaging_misfits, elastic_misfits
from contract.faults import Fault, refusal
from contract.fit import misfit, unplaced
from contract.model_fit import misfits
from contract.numbers import Count, Fraction, Positive
from contract.resources import Local, Resources
from contract.schedule_fit import schedule_misfits


class RunSpec(Spec):
    """One run, complete: a RunSpec that parses can be carried out."""

    model: Model = ConvNet()
    data: Data = Digits()
    optimizer: Optimizer
    schedule: Schedule
    clip_norm: Positive | None = None  # the averaged gradient's norm is at most this
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None  # evaluate an average of the weights over the steps
    batch: Count  # images per step, over all ranks
    epochs: Count
    label_smoothing: Fraction = 0.0  # eps; the share of a label that is spread over all classes
    rule: Rule = Sync()
    collective: Collective = Native()
    resources: Resources = Local()
    checkpoint: Checkpoint = Checkpoint()
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    @property
    def batch_per_rank(self) -> int:
        return self.batch // self.resources.world

    @property
    def peak_rate(self) -> float:
        """The highest rate of the schedule, scaled to the batch."""
        return self.schedule.peak(self.batch)

    @property
    def course(self) -> Course:
        """Which step belongs to which epoch."""
        return Course(self.data.train_samples, self.epochs, self.batch)

    @property
    def steps_per_epoch(self) -> int:
        return self.course.steps_in(0)

    @property
    def steps(self) -> int:
        return self.course.steps

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> Self:
        if faults := list(self._misfits()):
            raise refusal(faults)
        return self

    def _misfits(self) -> Iterator[Fault]:
        world, batch, train = self.resources.world, self.batch, self.data.train_samples
        if batch % world:
            yield Fault(path="batch", message=f"batch {batch} does not divide over {world} ranks")
        elif batch // world < 2:
            message = f"batch {batch} over {world} ranks is 1 image per rank; batch normalization needs at least 2"
            yield Fault(path="batch", message=message)
        if batch > train:
            message = f"batch {batch} is larger than the {train} training images of {self.data.kind}"
            yield Fault(path="batch", message=message)
        yield from misfits(self.model, self.data)
        if fault := unplaced(self.data, self.rule, world):
            yield fault
        if fault := misfit(self.collective, world):
            yield Fault(path=f"collective.{fault.path}", message=fault.message)
        for fault in schedule_misfits(self.schedule, self.epochs):
            yield Fault(path=f"schedule.{fault.path}", message=fault.message)
        if self.steps >= 2**31:
            message = (
                f"{self.epochs} epochs of {self.steps_per_epoch} steps are {self.steps:,} steps, more than 2^31 - 1"
            )
            yield Fault(path="epochs", message=message)
        if not isinstance(self.rule, Sync) and self.checkpoint != Checkpoint():
            message = f"the replicas of {self.rule.kind} come to no common step at which they could be saved"
            yield Fault(path="checkpoint", message=message)
        yield from elastic_misfits(self.rule, self.optimizer, rate=self.peak_rate, world=world)
        yield from averaging_misfits(self.rule, clips=self.clip_norm is not None, averages=self.ema_decay is not None)
        if isinstance(self.optimizer, SGD) and self.optimizer.nesterov and not self.optimizer.momentum:
            yield Fault(path="optimizer.nesterov", message="Nesterov's look ahead needs a momentum above 0")
