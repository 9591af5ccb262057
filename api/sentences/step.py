"""Why a step of a workflow is in its state, as a sentence."""

from collections.abc import Mapping, Sequence
from typing import Protocol, assert_never

from contract.lifecycle.state import ENDED, State
from contract.lifecycle.step import (
    OPEN_STEPS,
    ConditionFalse,
    EmptyList,
    NeedEnded,
    NotResolved,
    RunsEnded,
    StepGoesOn,
    StepReason,
    StepState,
    StepStopped,
    WorkflowFailed,
)


class _Step(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> StepState: ...
    @property
    def needs(self) -> Sequence[str]: ...
    @property
    def reason(self) -> StepReason | None: ...
    @property
    def runs(self) -> Mapping[State, int]: ...


def step_sentence(step: _Step, steps: Mapping[str, _Step]) -> str | None:
    """Return why a step waits, or why it ended so; None if nothing needs a reason."""
    if step.state is StepState.WAITING:
        return _waits(step, steps)
    return None if step.reason is None else _reason(step.reason)


def _waits(step: _Step, steps: Mapping[str, _Step]) -> str:
    needed = [steps[name] for name in step.needs if steps[name].state in OPEN_STEPS]
    if not needed:
        return "it gets its runs within a second"
    return f"it waits for {'; for '.join(map(_open_step, needed))}"


def _open_step(step: _Step) -> str:
    if step.state is StepState.WAITING:
        return f"{step.name}, which waits too"
    going = sum(count for state, count in step.runs.items() if state not in ENDED)
    total = sum(step.runs.values())
    return f"{step.name} ({going:,} of {_count(total, 'run')} {'has' if going == 1 else 'have'} not ended)"


def _reason(reason: StepReason) -> str:
    match reason:
        case RunsEnded():
            parts = [(reason.failed, "failed"), (reason.cancelled, "cancelled")]
            ended = " and ".join(f"{count:,} {word}" for count, word in parts if count)
            return f"of {_count(reason.total, 'run')} {ended}"
        case NeedEnded():
            return f"it needs step {reason.step}, which {_was(reason.state)}"
        case WorkflowFailed():
            return f"step {reason.step} {_was(reason.state)}, and its `on_failure: fail` ends the experiment"
        case ConditionFalse():
            return f"its condition: {reason.comparison}"
        case NotResolved():
            return f"its runs could not be made: {reason.message}"
        case EmptyList():
            return f"{reason.reference} is empty, so the step has no runs"
        case StepStopped():
            return "the experiment was stopped"
        case StepGoesOn():
            return f"{reason.by or 'a request'} let runs go on"
        case _:
            assert_never(reason)


def _was(state: StepState) -> str:
    return "failed" if state is StepState.FAILED else f"was {state}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
