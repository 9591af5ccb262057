"""The table of a workflow's steps: state, runs, what each waits for, and how long it takes."""

from bigbatch.terminal.units import format_duration
from contract.api.workflow_steps import StepGraph, StepView
from contract.lifecycle.state import State

HEADS = ("step", "state", "runs", "needs", "time", "why")


def step_table(graph: StepGraph) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows; a star marks the steps of the critical path."""
    return HEADS, [_row(step) for step in graph.steps]


def _row(step: StepView) -> tuple[str, ...]:
    name = f"{step.name} *" if step.is_critical else step.name
    took = "" if step.duration_s is None else format_duration(step.duration_s)
    about = "" if step.ended_at is not None or not took else "about "
    return (name, step.state, _runs(step), " ".join(step.needs), f"{about}{took}", step.reason or "")


def _runs(step: StepView) -> str:
    if step.size is None:
        return "?"
    done = step.counts.get(State.DONE, 0)
    return f"{done} of {step.size} done"
