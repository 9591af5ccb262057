"""What a step does next: a pure function of the states of the steps and of their runs."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from contract.lifecycle.state import State
from contract.lifecycle.step import (
    EmptyList,
    NeedEnded,
    RunsEnded,
    StepReason,
    StepState,
    WorkflowFailed,
    end_of,
)

UNSUCCESSFUL = (StepState.FAILED, StepState.CANCELLED)


class StepFacts(NamedTuple):
    """What is known about a step."""

    name: str
    state: StepState
    needs: tuple[str, ...] = ()
    on_failure: str = "fail"
    runs: Mapping[State, int] = {}  # of a running step
    reason: StepReason | None = None


class Move(NamedTuple):
    """The step changes its state."""

    new: StepState
    reason: StepReason | None = None


class Expand(NamedTuple):
    """The step's condition is read, and it gets its runs."""


Decision = Move | Expand | None  # None: the step stays as it is


def decide_step(step: StepFacts, steps: Mapping[str, StepFacts]) -> Decision:
    """Return what a step does next; `steps`: all steps of its experiment by their names."""
    return _decide(step, steps, _failed_step(steps))


def decide_all(names: Iterable[str], steps: Mapping[str, StepFacts]) -> dict[str, Move | Expand]:
    """Return what those of the steps with these names do next that do not stay as they are."""
    failed = _failed_step(steps)
    found = {name: _decide(steps[name], steps, failed) for name in names}
    return {name: decision for name, decision in found.items() if decision is not None}


def _decide(step: StepFacts, steps: Mapping[str, StepFacts], failed: StepFacts | None) -> Decision:
    """Return what a step does next; `failed`: the step that keeps those that wait from starting."""
    if step.state is StepState.RUNNING:
        return _decide_running(step)
    if step.state is not StepState.WAITING:
        return None
    if failed is not None:
        return Move(StepState.CANCELLED, WorkflowFailed(step=failed.name, state=failed.state))
    needed = [steps[name] for name in step.needs]
    if blocked := next((need for need in needed if _blocks(need)), None):
        return Move(StepState.SKIPPED, NeedEnded(step=blocked.name, state=blocked.state))
    if any(need.state in (StepState.WAITING, StepState.RUNNING) for need in needed):
        return None
    return Expand()


def _failed_step(steps: Mapping[str, StepFacts]) -> StepFacts | None:
    return next((step for step in steps.values() if _ends_workflow(step)), None)


def _decide_running(step: StepFacts) -> Decision:
    if (end := end_of(step.runs)) is None:
        return None
    if end is StepState.DONE:
        return Move(end, step.reason if isinstance(step.reason, EmptyList) else None)
    failed, cancelled = step.runs.get(State.FAILED, 0), step.runs.get(State.CANCELLED, 0)
    return Move(end, RunsEnded(failed=failed, cancelled=cancelled, total=sum(step.runs.values())))


def _ends_workflow(step: StepFacts) -> bool:
    """Return whether the failure of the step keeps every step that waits from starting.

    A step that was cancelled because another one ended the workflow did not fail itself.
    """
    is_own = not isinstance(step.reason, WorkflowFailed)
    return step.on_failure == "fail" and step.state in UNSUCCESSFUL and is_own


def _blocks(need: StepFacts) -> bool:
    """Return whether the steps that need this one cannot start any more."""
    if need.state is StepState.SKIPPED:
        return True
    return need.state in UNSUCCESSFUL and need.on_failure != "continue"
