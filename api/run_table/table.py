"""The table of runs: every run of the database, filtered by a query and sorted by any field."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import LIST
from api.parameters import MAX_INTEGER, NO_NUL, Limit
from api.render import table_row
from api.run_table.language import parse_name
from api.run_table.selection import ColumnName, Columns, Selected, Sort, in_parameter, orders
from api.run_table.written import written_value
from contract.api.run_table import Cell, FieldName, FieldNames, FieldValues, TableColumn, TablePage
from contract.validation import ValidationIssue
from store.lists import run_list
from store.lists.order import ListOrder
from store.run_table import names
from store.run_table.columns import BuiltIn, Kind
from store.run_table.fields import Field, FirstOf, MetricField, SpecField, TagField, find_column, find_field
from store.run_table.keyset import PlaceError
from store.run_table.page import Listed, cells_of, page_of_ids
from store.run_table.query import QueryError
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
SkipUnknown = Annotated[
    bool, Query(description="Whether columns that no run has are left out of the answer, in place of an error.")
]
Offset = Annotated[
    int,
    Query(
        ge=0,
        le=MAX_INTEGER,
        description="Number of rows before the page, for a view of a part; rows that leave or join the table shift it.",
    ),
]
After = Annotated[
    str | None,
    Query(
        max_length=8000,
        pattern=NO_NUL,
        description="`next` of the page before, with the same query and order: the page begins behind its last row, "
        "also if that row has left the table.",
        examples=["[42, 0.983, null]"],
    ),
]


@router.get("/table", responses=LIST)
def get_run_table(
    db: Reading,
    selected: Selected,
    sort: Sort = None,
    column: Columns = (),
    skip_unknown: SkipUnknown = False,
    offset: Offset = 0,
    after: After = None,
    limit: Limit = 100,
) -> TablePage:
    """Return a page of the table of runs: those of a query, in any order, with any columns."""
    # the page of an experiment asks for metrics that its runs have not reported yet
    find = find_field if selected.experiment is None else find_column
    which, by = selected.conditions(db), orders(db, sort, find)
    try:
        page = page_of_ids(db, *which, by=by, offset=offset, limit=limit, after=after)
    except PlaceError as error:
        issue = ValidationIssue(path="after", message="expected `next` of a page with the same order")
        raise Invalid("the page is not valid", [issue]) from error
    if skip_unknown:
        column = [name for name in column if _is_known(db, name)]
    fields = in_parameter("column", lambda: [find(db, parse_name(name)) for name in column])
    shown, _ = run_list.page(db, Run.id.in_(page.ids), order=ListOrder([], [Run.id.asc()]), limit=limit)
    cells = cells_of(db, [Listed(run.id, run.experiment_id) for run in shown], fields)
    rows = {run.id: table_row(run, cells[run.id]) for run in shown}
    return TablePage(
        total=page.total,
        offset=offset,
        next=page.next,
        columns=[column_of(name, field) for name, field in zip(column, fields, strict=True)],
        rows=[rows[run_id] for run_id in page.ids],
    )


def _is_known(db: Session, name: str) -> bool:
    """Return whether any run has the field of a column; no run has one of a text that is no name."""
    try:
        find_field(db, parse_name(name))
    except QueryError:
        return False
    return True


@router.get("/names", responses=LIST)
def get_field_names(db: Reading) -> FieldNames:
    """Return the names of all fields that a query, an order or a column of the table may have."""
    found = names.all_names(db)
    return FieldNames(names=[FieldName(**one._asdict()) for one in found])


@router.get("/values", responses=LIST)
def get_field_values(db: Reading, name: ColumnName, limit: Limit = 100) -> FieldValues:
    """Return values of one field, for the completion of a query."""
    match in_parameter("name", lambda: find_field(db, parse_name(name))):
        case BuiltIn() as column:
            values: Sequence[Cell] = names.column_values(db, column, limit)
        case TagField():
            values = names.tag_values(db, limit)
        case SpecField(path):
            values = names.spec_values(db, path, limit)
        case FirstOf(fields):
            own = [names.spec_values(db, one.path, limit) for one in fields if isinstance(one, SpecField)]
            values = list(dict.fromkeys(value for each in own for value in each))[:limit]
        case MetricField():
            values = []
    return FieldValues(name=name, values=list(values), texts=[written_value(value) for value in values])


def column_of(name: str, field: Field) -> TableColumn:
    """Return what an answer says of a column."""
    match field:
        case BuiltIn():
            return TableColumn(name=name, kind=field.kind, metric=None)
        case TagField():
            return TableColumn(name=name, kind=Kind.TEXT, metric=None)
        case SpecField():
            return TableColumn(name=name, kind=Kind.ANY, metric=None)
        case FirstOf():
            return TableColumn(name=name, kind=Kind.ANY, metric=None)
        case MetricField(metric, _):
            return TableColumn(name=name, kind=Kind.NUMBER, metric=metric)
