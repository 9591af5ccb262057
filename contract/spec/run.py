"""What a run is: the one document that every room reads."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.spec.base import Spec
from contract.spec.batch_schedule import Course, Stage
from contract.spec.batch_size import BatchStage, share_misfit, stage_misfits
from contract.spec.checkpoint import Checkpoint
from contract.spec.checks.easgd import averaging_misfits, elastic_misfits
from contract.spec.checks.lr_schedule import schedule_misfits
from contract.spec.checks.memory import Replica, data_bytes, overflow, vectors
from contract.spec.checks.model import misfits
from contract.spec.checks.model_size import size_of
from contract.spec.checks.world_size import misfit, unplaced
from contract.spec.choices.collectives import Collective, Native
from contract.spec.choices.data import Data, Digits
from contract.spec.choices.models import ConvNet, Model
from contract.spec.choices.optimizers import SGD, Optimizer
from contract.spec.choices.rules import Rule, Sync
from contract.spec.choices.schedules import Schedule
from contract.spec.many_core import many_core_misfits
from contract.spec.normalization import BatchNorm
from contract.spec.numbers import Count, Fraction, Positive
from contract.spec.resources import Local, Resources, Slurm
from contract.spec.retry import Retries
from contract.validation import Fault, refusal

Precision = Literal["float32", "bfloat16", "float16"]


class RunSpec(Spec):
    """One run, complete: a RunSpec that parses can be carried out."""

    model: Model = ConvNet()
    data: Data = Digits()
    optimizer: Optimizer
    schedule: Schedule
    clip_norm: Positive | None = None  # the averaged gradient's norm is at most this
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None  # evaluate an average of the weights over the steps
    batch: Count  # samples per step, over all ranks
    batch_stages: list[BatchStage] = []  # batch-size control: from these epochs on the batch is another
    micro_batch: Count | None = None  # the most samples that one pass of a rank takes; none: all of its part
    epochs: Count
    channels_last: bool = False  # images lie with their channels innermost: faster 16-bit convolutions on GPUs
    precision: Precision = "float32"  # of the passes; weights, norms and updates are float32 in any case
    batch_norm: BatchNorm = BatchNorm()
    label_smoothing: Fraction = 0.0  # eps; the share of a label that is spread over all classes
    rule: Rule = Sync()
    collective: Collective = Native()
    resources: Resources = Local()
    checkpoint: Checkpoint = Checkpoint()
    retries: Retries = Retries()
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    @property
    def course(self) -> Course:
        """Which step belongs to which epoch, and which batch."""
        stages = (Stage(0, self.batch), *(Stage(stage.epoch, stage.batch) for stage in self.batch_stages))
        return Course(self.data.train_samples, self.epochs, stages)

    @property
    def peak_rate(self) -> float:
        """The highest rate of the schedule, scaled to the largest batch."""
        return max(self.schedule.peak(stage.batch) for stage in self.course.stages)

    @property
    def batch_per_rank(self) -> int:
        """A rank's part of the smallest batch."""
        return min(stage.batch for stage in self.course.stages) // self.resources.world

    @property
    def steps(self) -> int:
        return self.course.steps

    @property
    def replica(self) -> Replica | None:
        """What each replica keeps in memory at the largest batch; none for a net of one's own, of unknown size."""
        if (size := size_of(self.model, self.data)) is None:
            return None
        world = self.resources.world
        share = max(stage.batch for stage in self.course.stages) // world
        own, center = vectors(self.rule, self.optimizer, world=world, averages=self.ema_decay is not None)
        return Replica(size, own, center, data_bytes(self.data, min(share, self.micro_batch or share)))

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> Self:
        if faults := list(self._misfits()):
            raise refusal(faults)
        return self

    def _misfits(self) -> Iterator[Fault]:
        world = self.resources.world
        yield from self._batch_misfits()
        yield from self._many_core_misfits()
        yield from misfits(self.model, self.data)
        if fault := unplaced(self.data, self.rule, world):
            yield fault
        if fault := misfit(self.collective, world):
            yield Fault(path=f"collective.{fault.path}", message=fault.message)
        for fault in schedule_misfits(self.schedule, self.course):
            yield Fault(path=f"schedule.{fault.path}", message=fault.message)
        if self.steps >= 2**31:
            message = f"{self.epochs} epochs are {self.steps:,} steps, more than 2^31 - 1"
            yield Fault(path="epochs", message=message)
        yield from elastic_misfits(self.rule, self.optimizer, rate=self.peak_rate, world=world)
        yield from averaging_misfits(self.rule, clips=self.clip_norm is not None, averages=self.ema_decay is not None)
        if isinstance(self.optimizer, SGD) and self.optimizer.nesterov and not self.optimizer.momentum:
            yield Fault(path="optimizer.nesterov", message="Nesterov's look ahead needs a momentum above 0")

    def _batch_misfits(self) -> Iterator[Fault]:
        world, group = self.resources.world, self.batch_norm.group
        together = group if self.model.normalizes else None
        yield from stage_misfits(self.batch_stages, self.epochs)
        stages = [(f"batch_stages.{number}.batch", stage.batch) for number, stage in enumerate(self.batch_stages)]
        for path, batch in [("batch", self.batch), *stages]:
            if batch > self.data.train_samples:
                message = (
                    f"batch {batch} is larger than the {self.data.train_samples} training samples of {self.data.kind}"
                )
                yield Fault(path=path, message=message)
            if told := share_misfit(batch, world=world, group=together, micro_batch=self.micro_batch):
                yield Fault(path=path, message=told)
        if world % group:
            message = f"{world} ranks do not divide into groups of {group}"
            yield Fault(path="batch_norm.group", message=message)

    def _many_core_misfits(self) -> Iterator[Fault]:
        need = self.resources
        if not isinstance(need, Slurm) or need.many_core is None:
            return
        asked = {"ranks_per_node": need.ranks_per_node, "cpus_per_rank": need.cpus_per_rank}
        faults = list(many_core_misfits(need.many_core, **asked, constraint=need.constraint))
        if self.replica and (fault := overflow(need.many_core, self.replica)):
            faults.append(fault)
        for fault in faults:
            yield Fault(path=f"resources.{fault.path}", message=fault.message)
