"""What a run says while it lives: one JSON line each in its events file."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


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


class Points(_Said):
    """What was measured at one step; None stands for a value that is not a finite number."""

    kind: Literal["points"] = "points"
    step: int
    values: dict[str, float | None]


class Finished(_Said):
    kind: Literal["finished"] = "finished"
    step: int


class Failed(_Said):
    kind: Literal["failed"] = "failed"
    rank: int
    reason: str


Event = Annotated[Started | Points | Finished | Failed, Field(discriminator="kind")]
reader: TypeAdapter[Event] = TypeAdapter(Event)
