"""The table of runs: pages of its rows, groups of runs, and the names and values for its queries."""

from datetime import datetime

from pydantic import Field

from contract.api.responses import VALUES
from contract.described_model import DescribedModel
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.state import State
from contract.spec.grid.grid import Values

Cell = float | int | str | bool | None


class TableColumn(DescribedModel):
    """A requested column."""

    name: str = Field(examples=["best(heldout_accuracy)"])
    """The name as the request has it."""
    kind: str = Field(examples=["number"])
    """What its values are: `number`, `duration` (seconds), `moment`, `text`, or `any` for a field of specs."""
    metric: str | None = Field(examples=["heldout_accuracy"])
    """The metric whose figure the column has; null for other columns."""


class TableRow(DescribedModel):
    """A run in the table."""

    id: int = Field(examples=[42])
    """Id of the run."""
    experiment_id: int = Field(examples=[17])
    """Id of the run's experiment."""
    number: int = Field(examples=[0])
    """Index in the experiment's grid, from 0."""
    values: Values = Field(examples=[VALUES])
    """The value of each field that the grid sets, by dotted path."""
    state: State
    """State of the run."""
    reason: str | None = Field(examples=["needs nodes that other jobs use (Resources)"])
    """Why the run failed, was cancelled, waits or is delayed, as a sentence; null if nothing needs a reason."""
    stopping: bool = Field(examples=[False])
    """Whether a stop was requested and the run has not ended yet."""
    after_failure: bool = Field(examples=[False])
    """Whether the attempt has failed and the run waits for the end of its job, or for its next attempt."""
    step: int = Field(examples=[1200])
    """The newest stored step; 0 before the first."""
    steps: int = Field(examples=[4875])
    """Number of steps of the whole run; 0 if it is not known."""
    diverged: Diverged | None
    """Since which step a metric of the run has no finite value; null: the newest values are numbers."""
    archived_at: datetime | None = Field(examples=["2026-11-23T08:00:00Z"])
    """When the run was archived; null: it is not archived."""
    cells: list[Cell] = Field(examples=[[256, "lars", 0.983]])
    """The values of the requested columns, in their order; null without a value."""


class TablePage(DescribedModel):
    """A page of the table."""

    total: int = Field(examples=[31_382])
    """Number of runs of the query, on all pages."""
    offset: int = Field(examples=[0])
    """Place of the first row of the page among them."""
    columns: list[TableColumn]
    """The requested columns, in their order."""
    rows: list[TableRow]
    """The rows of the page, in the requested order."""


class FieldName(DescribedModel):
    """A name that a query, an order or a column may have."""

    name: str = Field(examples=["optimizer.kind"])
    """The name; a metric's alone stands for its last value, and `best(name)`, `min`, `max`, `mean` for others."""
    kind: str = Field(examples=["any"])
    """What its values are: `number`, `duration` (seconds), `moment`, `text`, or `any` for a field of specs."""
    title: str = Field(examples=["field of the spec"])
    """What the field is."""
    is_metric: bool = Field(examples=[False])
    """Whether it is a metric."""


class FieldNames(DescribedModel):
    """The names of all fields that any run has."""

    names: list[FieldName]
    """Columns that every run has, then fields of specs, then metrics."""


class FieldValues(DescribedModel):
    """Values of one field, for the completion of a query."""

    name: str = Field(examples=["owner"])
    """The field."""
    values: list[Cell] = Field(examples=[["ada", "grace"]])
    """At most as many values as were asked for; none for numbers that every run has, and for metrics."""


class GroupFigure(DescribedModel):
    """The spread of one figure over the runs of a group that have it."""

    count: int = Field(examples=[5])
    """Number of runs with a value."""
    mean: float = Field(examples=[0.981])
    """Mean of the values."""
    deviation: float | None = Field(examples=[0.0012])
    """Deviation of the sample, with n - 1; null for one value."""
    least: float = Field(examples=[0.979])
    """The least value."""
    most: float = Field(examples=[0.983])
    """The greatest value."""


class RunGroup(DescribedModel):
    """Runs with equal values in the fields of the grouping."""

    values: list[Cell] = Field(examples=[[256, "lars"]])
    """The value of each field, in their order; null: these runs have no value."""
    count: int = Field(examples=[5])
    """Number of runs in the group."""
    figures: list[GroupFigure | None]
    """The spread of each requested figure, in their order; null if no run of the group has a value."""
    where: str | None = Field(examples=['(state = done) and batch = 256 and optimizer.kind = "lars"'])
    """The query for the runs of the group; null if the language cannot write one of the values."""


class RunGroups(DescribedModel):
    """The groups of the runs that a request selects."""

    total: int = Field(examples=[12])
    """Number of groups; the answer has at most as many as were asked for."""
    runs: int = Field(examples=[60])
    """Number of runs in all groups; a run with several tags counts once."""
    by: list[TableColumn]
    """The fields of the grouping, in their order."""
    columns: list[TableColumn]
    """The figures, in their order."""
    groups: list[RunGroup]
    """The groups, in the requested order."""
