"""The steps of a workflow as a graph, with the states of their runs."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel
from contract.lifecycle.state import State
from contract.lifecycle.step import StepState

MOMENT = "2026-11-26T12:00:00Z"


class StepView(DescribedModel):
    """A step of a workflow."""

    id: int = Field(examples=[3])
    """Id of the step, as `step_id` of its runs."""
    name: str = Field(examples=["train"])
    """Name of the step."""
    state: StepState
    """State of the step."""
    reason: str | None = Field(examples=["2 of 8 runs failed"])
    """Why the step waits, or why it ended so, as a sentence; null if nothing needs a reason."""
    needs: list[str] = Field(examples=[["prepare"]])
    """Names of the steps that must end before, also of those to which it only refers."""
    on_failure: str = Field(examples=["fail"])
    """What happens if a run of the step fails: `fail`, `skip` or `continue`, as the spec says."""
    kind: str = Field(examples=["engine"])
    """Kind of its runs: `engine` or `program`."""
    condition: str | None = Field(examples=["steps.probe.best.loss < 2"])
    """The condition `when`; null without one."""
    size: int | None = Field(examples=[8])
    """Number of its runs; null: it is known when the steps that it needs have ended."""
    counts: dict[State, int] = Field(examples=[{"running": 1, "done": 7}])
    """Number of its runs in each state; a state without runs may be absent."""
    progress: float = Field(examples=[0.75])
    """Completed training steps over all of its runs, 0 to 1; where their number is unknown, ended runs over all."""
    expanded_at: datetime | None = Field(examples=[MOMENT])
    """When the step got its runs; null before."""
    ended_at: datetime | None = Field(examples=[MOMENT])
    """When the step ended; null before."""
    duration_s: float | None = Field(examples=[93.5])
    """Seconds that the step took, or will take as far as known: of an ended step the time in which at least one job of
    its runs waited for its cluster or ran, of a running one by its progress, of a waiting one by the last experiment of
    the same name; null: unknown."""
    is_critical: bool = Field(examples=[True])
    """Whether the step is on the critical path, which decides when the workflow ends."""
    predicted_end: datetime | None = Field(examples=[MOMENT])
    """When the step will end by these durations; null if it has ended, or if a duration before it is unknown."""


class StepEdge(DescribedModel):
    """One step needs another one."""

    source: str = Field(examples=["prepare"])
    """The step that must end first."""
    target: str = Field(examples=["train"])
    """The step that needs it."""
    references: list[str] = Field(examples=[["{steps.prepare.outputs.data}"]])
    """What the target takes from the source; empty: it only waits."""


class StepGraph(DescribedModel):
    """The steps of a workflow, and which of them needs which."""

    steps: list[StepView]
    """The steps in the order of the spec; empty for an experiment without steps."""
    edges: list[StepEdge]
    """One entry for each pair of steps of which one needs the other."""
    predicted_end: datetime | None = Field(examples=[MOMENT])
    """When the workflow will end by the durations of its steps; null if all have ended, or if a duration is unknown."""
