"""The events of a run: the trainer appends each event as one JSON line to the run's events file."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from contract.folder.auto_choice import CollectiveChoices
from contract.folder.bounds import (
    MAX_NOTES,
    MAX_RANKS,
    MAX_VALUES,
    Duration,
    HostName,
    Int4,
    Int8,
    Line,
    MetricName,
    MetricValue,
    Moment,
    Notes,
    Rank,
    Seconds,
)
from contract.folder.record import FolderRecord
from contract.lifecycle.failure import FailureKind


class _Event(FolderRecord):
    """The fields of every event."""

    attempt: Int4
    at: Moment  # seconds since 1970, by the clock of rank 0's host


class _End(_Event):
    """The fields of every event that ends an attempt."""

    ran_s: Duration | None = None  # since `started`, by a clock that nobody sets; None: never started, or an older job


class Started(_Event):
    """All ranks of the attempt are connected, and training starts."""

    kind: Literal["started"] = "started"
    world: Int4
    hosts: list[HostName] = Field(max_length=MAX_RANKS)  # one per rank
    device: Line
    steps: Int4  # number of steps of the whole run
    versions: dict[Line, Line] = Field(max_length=MAX_NOTES)


class Resumed(_Event):
    """The attempt continues from a checkpoint, or from step 0. Events of later steps of older attempts are repeated."""

    kind: Literal["resumed"] = "resumed"
    step: Int4  # step of the checkpoint, 0 without one: the first step of the attempt is the next one
    lost_steps: Int4  # steps after the checkpoint that an older attempt has already reported
    notes: Notes = []  # skipped damaged checkpoints, a different number of ranks


class CollectivesChosen(_Event):
    """`auto` chose collectives, or loaded the choices of an older attempt."""

    kind: Literal["chose"] = "chose"
    kept: bool  # the choices of an older attempt
    note: Line | None = None  # why the older attempt's choices were not used
    choices: CollectiveChoices


class Points(_Event):
    """The measured values of one step, in JSON with the tokens NaN, Infinity and -Infinity, as Python's json writes.

    None stands for a value of an earlier trainer that was not a finite number.
    """

    model_config = ConfigDict(ser_json_inf_nan="constants")
    kind: Literal["points"] = "points"
    step: Int4
    values: dict[MetricName, MetricValue] = Field(max_length=MAX_VALUES)


class Saved(_Event):
    """A checkpoint was written, or the write failed: then `error` has the reason, and the run continues."""

    kind: Literal["saved"] = "saved"
    step: Int4
    stall_s: Seconds  # time for which training waited
    write_s: Seconds  # time until the checkpoint was complete on disk, mostly in parallel with training
    size_bytes: Int8
    error: Line | None = None


class Paused(_End):
    """All ranks stopped after the same step, on a signal; the next attempt continues from `saved_step`."""

    kind: Literal["paused"] = "paused"
    step: Int4
    saved_step: Int4  # step of the newest checkpoint; 0 without one
    reason: Line  # one line: which signal, on which rank
    signal: Line | None = None  # its name, as "SIGTERM"

    @model_validator(mode="after")
    def _signal_of_an_older_trainer(self) -> "Paused":
        """Take the signal from the reason's first word: a trainer of an earlier version wrote it only there."""
        first = self.reason.partition(" ")[0]
        if self.signal is None and first.startswith("SIG"):
            object.__setattr__(self, "signal", first)  # the model is frozen
        return self


class Stopped(_End):
    """Every rank ended after the cluster asked it to, and none reported a saved state: not done, and no failure."""

    kind: Literal["stopped"] = "stopped"
    step: Int4  # the last step with points
    signal: Line  # its name, as "SIGTERM"


class Noticed(_Event):
    """The agent saw that the program logs to another tracker, of which no metric is read.

    A service of an earlier version counts the line as one that cannot be read.
    """

    kind: Literal["noticed"] = "noticed"
    metrics: Line  # a sentence: which tracker, where, and what to set


class Finished(_End):
    """The run took all its steps."""

    kind: Literal["finished"] = "finished"
    step: Int4
    outputs: bool = False  # outputs.json has the record of this attempt


class Failed(_End):
    """The attempt failed."""

    kind: Literal["failed"] = "failed"
    rank: Rank
    reason: Line
    failure: FailureKind | None = None  # None in events of trainers before this field existed


Event = Annotated[
    Started | CollectivesChosen | Resumed | Points | Saved | Paused | Stopped | Noticed | Finished | Failed,
    Field(discriminator="kind"),
]
event_reader: TypeAdapter[Event] = TypeAdapter(Event)
