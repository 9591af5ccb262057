"""The parameters that select runs: a query of the language, a text, an experiment; and the order of a table."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Depends, Query
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from api.errors import Invalid
from api.parameters import MAX_INTEGER, MAX_RUNS, NO_NUL, Archived, RunText
from api.run_table.language import parse_orders, parse_query
from contract.validation import ValidationIssue
from store.lifecycle.labels import visible
from store.run_table.any_text import run_has_text
from store.run_table.fields import Field
from store.run_table.page import FieldOrder
from store.run_table.query import Name, QueryError
from store.run_table.where import condition_of
from store.tables.runs import Run

MAX_COLUMNS = 60
T = TypeVar("T")

Where = Annotated[
    str | None,
    Query(
        max_length=2000,
        pattern=NO_NUL,
        description="A query: comparisons (= != < <= > >= ~ !~ in) of fields, joined by and, or, not and parentheses.",
        examples=['state = failed and batch > 256 and tag = "lars"'],
    ),
]
Sort = Annotated[
    str | None,
    Query(
        max_length=500,
        pattern=NO_NUL,
        description="Fields by which the runs are sorted, each with - in front for the reverse order; without it the "
        "newest runs come first. Runs without a value come last.",
        examples=["-best(heldout_accuracy), batch"],
    ),
]
ColumnName = Annotated[
    str,
    Query(min_length=1, max_length=250, pattern=NO_NUL, description="Name of the field.", examples=["optimizer.kind"]),
]
Columns = Annotated[
    Sequence[ColumnName],
    Query(
        max_length=MAX_COLUMNS,
        description="Fields whose values the rows have; repeat it.",
        examples=[["batch", "best(heldout_accuracy)"]],
    ),
]
OfExperiment = Annotated[
    int | None,
    Query(
        ge=0,
        le=MAX_INTEGER,
        description="Only the runs of this experiment, archived ones too; a column that no run has is empty.",
        examples=[17],
    ),
]
ChosenRuns = Annotated[
    Sequence[Annotated[int, Query(ge=0, le=MAX_INTEGER, examples=[42])]],
    Query(max_length=MAX_RUNS, description="Only the runs with these ids, archived ones too; repeat it."),
]


class Selection:
    """What a request selects; the experiment also decides how names of columns are understood."""

    def __init__(
        self,
        where: Where = None,
        q: RunText = None,
        experiment: OfExperiment = None,
        run: ChosenRuns = (),
        archived: Archived = False,
    ) -> None:
        self.where, self.text, self.experiment, self.runs, self.archived = where, q, experiment, run, archived

    def conditions(self, db: Session) -> list[ColumnElement[bool]]:
        """Return the conditions for the runs; raise Invalid for a wrong query."""
        which: list[ColumnElement[bool]] = visible(Run, archived=self.archived)
        if self.experiment is not None or self.runs:
            which = [Run.deleted_at.is_(None)]
        which += [] if self.experiment is None else [Run.experiment_id == self.experiment]
        which += [Run.id.in_(self.runs)] if self.runs else []
        which += [] if self.text is None else [run_has_text(self.text)]
        if (where := self.where) and where.strip():
            which.append(in_parameter("where", lambda: condition_of(db, parse_query(where))))
        return which


Selected = Annotated[Selection, Depends()]


def orders(db: Session, sort: str | None, find: Callable[[Session, Name], Field]) -> list[FieldOrder]:
    """Return the order of a table; raise Invalid for a wrong one."""
    if not sort or not sort.strip():
        return []
    return in_parameter(
        "sort", lambda: [FieldOrder(find(db, one.name), one.is_descending) for one in parse_orders(sort)]
    )


def in_parameter(parameter: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; raise Invalid with the place in the parameter for a QueryError."""
    try:
        return read()
    except QueryError as error:
        start, end = error.place
        issue = ValidationIssue(path=parameter, message=error.message, start=start, end=end)
        raise Invalid("the query is not valid", [issue]) from error
