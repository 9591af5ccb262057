"""The table of runs: every run of the database, filtered by a query and sorted by any field."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import LIST
from api.parameters import MAX_INTEGER, NO_NUL, Archived, Limit, RunText
from api.render import table_row
from api.run_table.language import parse_name, parse_orders, parse_query
from contract.api.run_table import Cell, FieldName, FieldNames, FieldValues, TableColumn, TablePage
from contract.validation import ValidationIssue
from store.lifecycle.labels import run_has_text, visible
from store.lists import run_list
from store.lists.order import ListOrder
from store.run_table import names
from store.run_table.columns import BuiltIn, Kind
from store.run_table.fields import Field, MetricField, SpecField, TagField, find_column, find_field
from store.run_table.page import FieldOrder, Listed, cells_of, ordered_ids
from store.run_table.query import Name, QueryError
from store.run_table.where import condition_of
from store.tables import Run

router = APIRouter(prefix="/runs", tags=["runs"])
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
Offset = Annotated[int, Query(ge=0, le=MAX_INTEGER, description="Number of rows before the page.")]


@router.get("/table", responses=LIST)
def get_run_table(
    db: Reading,
    where: Where = None,
    q: RunText = None,
    sort: Sort = None,
    column: Columns = (),
    experiment: OfExperiment = None,
    archived: Archived = False,
    offset: Offset = 0,
    limit: Limit = 100,
) -> TablePage:
    """Return a page of the table of runs: those of a query, in any order, with any columns."""
    which = _which(db, where, q, experiment, archived=archived)
    # the page of an experiment asks for metrics that its runs have not reported yet
    find = find_field if experiment is None else find_column
    ids = ordered_ids(db, *which, by=_orders(db, sort, find))
    fields = _in("column", lambda: [find(db, parse_name(name)) for name in column])
    shown_ids = ids[offset : offset + limit]
    shown, _ = run_list.page(db, Run.id.in_(shown_ids), order=ListOrder([], [Run.id.asc()]), limit=limit)
    cells = cells_of(db, [Listed(run.id, run.experiment_id) for run in shown], fields)
    rows = {run.id: table_row(run, cells[run.id]) for run in shown}
    return TablePage(
        total=len(ids),
        offset=offset,
        columns=[_column(name, field) for name, field in zip(column, fields, strict=True)],
        rows=[rows[run_id] for run_id in shown_ids],
    )


@router.get("/names", responses=LIST)
def get_field_names(db: Reading) -> FieldNames:
    """Return the names of all fields that a query, an order or a column of the table may have."""
    found = names.all_names(db)
    return FieldNames(names=[FieldName(**one._asdict()) for one in found])


@router.get("/values", responses=LIST)
def get_field_values(db: Reading, name: ColumnName, limit: Limit = 100) -> FieldValues:
    """Return values of one field, for the completion of a query."""
    match _in("name", lambda: find_field(db, parse_name(name))):
        case BuiltIn() as column:
            values: Sequence[Cell] = names.column_values(db, column, limit)
        case TagField():
            values = names.tag_values(db, limit)
        case SpecField(path):
            values = names.spec_values(db, path, limit)
        case MetricField():
            values = []
    return FieldValues(name=name, values=list(values))


def _which(
    db: Session, where: str | None, text: str | None, experiment: int | None, *, archived: bool
) -> list[ColumnElement[bool]]:
    which: list[ColumnElement[bool]] = visible(Run, archived=archived)
    if experiment is not None:
        which = [Run.experiment_id == experiment, Run.deleted_at.is_(None)]
    which += [] if text is None else [run_has_text(text)]
    if where and where.strip():
        which.append(_in("where", lambda: condition_of(db, parse_query(where))))
    return which


def _orders(db: Session, sort: str | None, find: Callable[[Session, Name], Field]) -> list[FieldOrder]:
    if not sort or not sort.strip():
        return []
    return _in("sort", lambda: [FieldOrder(find(db, one.name), one.is_descending) for one in parse_orders(sort)])


def _in(parameter: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; raise Invalid with the place in the parameter for a QueryError."""
    try:
        return read()
    except QueryError as error:
        start, end = error.place
        issue = ValidationIssue(path=parameter, message=error.message, start=start, end=end)
        raise Invalid("the query is not valid", [issue]) from error


def _column(name: str, field: Field) -> TableColumn:
    match field:
        case BuiltIn():
            return TableColumn(name=name, kind=field.kind, metric=None)
        case TagField():
            return TableColumn(name=name, kind=Kind.TEXT, metric=None)
        case SpecField():
            return TableColumn(name=name, kind=Kind.ANY, metric=None)
        case MetricField(metric, _):
            return TableColumn(name=name, kind=Kind.NUMBER, metric=metric)
