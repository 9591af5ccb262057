"""States of a workflow's step, the legal moves between them, and why a step is in its state."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contract.lifecycle.state import ENDED, State


class StepState(StrEnum):
    """The states of a step.

    waiting: it has no runs yet. running: its runs exist, and not all of them have ended. done, failed, cancelled: all
    runs have ended, or the step has ended without runs. skipped: its condition does not hold, or a step that it needs
    was skipped or has failed.
    """

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


_ENDS = {StepState.DONE, StepState.FAILED, StepState.CANCELLED}
# a step gets its runs once: those that have them go on as running, the others as waiting
STEP_MOVES: Mapping[StepState, set[StepState]] = {
    StepState.WAITING: {StepState.RUNNING, StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED},
    StepState.RUNNING: _ENDS,
    StepState.DONE: {StepState.RUNNING},  # a run got further epochs, or another attempt
    StepState.FAILED: {StepState.RUNNING, StepState.WAITING},
    StepState.CANCELLED: {StepState.RUNNING, StepState.WAITING},
    StepState.SKIPPED: {StepState.WAITING},
}
OPEN_STEPS = frozenset({StepState.WAITING, StepState.RUNNING})


def end_of(counts: Mapping[State, int]) -> StepState | None:
    """Return the state of a step whose runs have these states; None while any of them has not ended."""
    if any(count for state, count in counts.items() if state not in ENDED):
        return None
    if counts.get(State.FAILED):
        return StepState.FAILED
    return StepState.CANCELLED if counts.get(State.CANCELLED) else StepState.DONE


class _Reason(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RunsEnded(_Reason):
    """All runs have ended; not all of them are done."""

    kind: Literal["runs_ended"] = "runs_ended"
    failed: int
    cancelled: int
    total: int


class NeedEnded(_Reason):
    """A step that this one needs did not succeed, or was skipped."""

    kind: Literal["need_ended"] = "need_ended"
    step: str
    state: StepState


class WorkflowFailed(_Reason):
    """A step did not succeed whose failure ends the experiment."""

    kind: Literal["workflow_failed"] = "workflow_failed"
    step: str
    state: StepState


class ConditionFalse(_Reason):
    """The condition does not hold; `comparison` has the numbers."""

    kind: Literal["condition_false"] = "condition_false"
    comparison: str


class NotResolved(_Reason):
    """The runs cannot be made, for example because an output was not written."""

    kind: Literal["not_resolved"] = "not_resolved"
    message: str


class EmptyList(_Reason):
    """A list of which each value would be a run is empty."""

    kind: Literal["empty_list"] = "empty_list"
    reference: str


class StepStopped(_Reason):
    """Somebody stopped the experiment before the step had runs."""

    kind: Literal["stopped"] = "stopped"


class StepGoesOn(_Reason):
    """Somebody asked runs to go on, of this step or of one that it needs."""

    kind: Literal["goes_on"] = "goes_on"
    by: str | None = None


StepReason = Annotated[
    RunsEnded | NeedEnded | WorkflowFailed | ConditionFalse | NotResolved | EmptyList | StepStopped | StepGoesOn,
    Field(discriminator="kind"),
]
step_reason_adapter: TypeAdapter[StepReason] = TypeAdapter(StepReason)
