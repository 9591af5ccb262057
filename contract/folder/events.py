"""What a run says while it lives: one JSON line each in its events file."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contract.folder.auto_choice import Choices
from contract.lifecycle.failure import FailureKind


class _Said(BaseModel):
    """Open to fields of a newer trainer: an old scheduler must not lose a run over them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    attempt: int
    at: float  # seconds since 1970, by the clock of rank 0's host


class Started(_Said):
    kind: Literal["started"] = "started"
    world: int
    hosts: list[str]  # one per rank
    device: str
    steps: int  # how many the run will take
    versions: dict[str, str]


class Resumed(_Said):
    """The attempt goes on from a checkpoint, or begins anew; what an earlier one told beyond it is told again."""

    kind: Literal["resumed"] = "resumed"
    step: int  # of the checkpoint, 0 where there was none: the first step taken is the next one
    lost_steps: int  # that an earlier attempt had told already
    notes: list[str] = []  # damaged checkpoints that were passed over, another number of ranks


class Chose(_Said):
    """`auto` has chosen its collectives, or taken up those that an earlier attempt chose."""

    kind: Literal["chose"] = "chose"
    kept: bool  # an earlier attempt's
    note: str | None = None  # why an earlier attempt's were not kept
    choices: Choices


class Points(_Said):
    """What was measured at one step; None stands for a value that is not a finite number."""

    kind: Literal["points"] = "points"
    step: int
    values: dict[str, float | None]


class Saved(_Said):
    """A checkpoint was written, or could not be: then `error` says why, and the run goes on without it."""

    kind: Literal["saved"] = "saved"
    step: int
    stall_s: float  # for which training waited
    write_s: float  # until the checkpoint was whole on disk, most of it beside training
    size_bytes: int
    error: str | None = None


class Paused(_Said):
    """All ranks left together at a step, asked to by a signal; the next attempt goes on from `saved_step`."""

    kind: Literal["paused"] = "paused"
    step: int
    saved_step: int  # of the newest checkpoint; 0 when there is none
    reason: str  # one line: which signal, on which rank


class Finished(_Said):
    kind: Literal["finished"] = "finished"
    step: int


class Failed(_Said):
    kind: Literal["failed"] = "failed"
    rank: int
    reason: str
    failure: FailureKind | None = None  # of what kind; none from a trainer of before it was told


Event = Annotated[Started | Chose | Resumed | Points | Saved | Paused | Finished | Failed, Field(discriminator="kind")]
reader: TypeAdapter[Event] = TypeAdapter(Event)
