"""The table of runs as a file: all runs of a query, with any fields as columns."""

from collections.abc import Iterator, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import Engine, select

from api.database import Reading
from api.exports.answer import EXPORT, stream
from api.exports.formats import Block, ExportColumn, ExportFormat, Type
from api.exports.points import Format
from api.run_table.language import parse_name
from api.run_table.selection import Columns, Selected, Sort, in_parameter, orders
from api.run_table.table import column_of
from contract.api.run_table import Cell
from store.run_table.columns import Kind
from store.run_table.fields import Field, find_column, find_field
from store.run_table.page import Listed, cells_of, ordered_ids
from store.session import snapshot
from store.tables.runs import Run

router = APIRouter(prefix="/export", tags=["export"])
ROWS = 500  # of a block
FIRST = (ExportColumn("id", "integer"), ExportColumn("experiment_id", "integer"), ExportColumn("state", "text"))
TYPES: dict[str, Type] = {Kind.NUMBER: "number", Kind.DURATION: "number", Kind.MOMENT: "text", Kind.TEXT: "text"}


@router.get("/runs", response_class=StreamingResponse, responses=EXPORT)
def export_runs(
    request: Request,
    db: Reading,
    selected: Selected,
    form: Format = ExportFormat.CSV,
    sort: Sort = None,
    column: Columns = (),
) -> StreamingResponse:
    """Return a row for each selected run: id, experiment, state, and the other columns that the request names."""
    find = find_field if selected.experiment is None else find_column
    column = own_columns(column)
    ids = ordered_ids(db, *selected.conditions(db), by=orders(db, sort, find))
    fields = in_parameter("column", lambda: [find(db, parse_name(name)) for name in column])
    columns = [ExportColumn(name, _type(name, field)) for name, field in zip(column, fields, strict=True)]
    engine: Engine = request.app.state.engine
    texts: list[int] = []
    if form is ExportFormat.PARQUET:
        columns = _with_types(columns, _cells(engine, ids, fields))
        texts = [place for place, one in enumerate(columns) if one.type == "text"]
    blocks = (_block(part, texts) for part in _cells(engine, ids, fields) if part)
    return stream(form, "runs", [*FIRST, *columns], blocks)


def own_columns(names: Sequence[str]) -> list[str]:
    """Return the requested columns that every file does not begin with, each once."""
    first = {one.name for one in FIRST}
    return [name for name in dict.fromkeys(names) if name not in first]


def _type(name: str, field: Field) -> Type:
    return TYPES.get(column_of(name, field).kind, "text")


Row = tuple[int, int, str, list[Cell]]


def _cells(engine: Engine, ids: Sequence[int], fields: Sequence[Field]) -> Iterator[list[Row]]:
    """Yield the rows of the runs, some at a time, each time in a transaction of its own."""
    for at in range(0, len(ids), ROWS):
        part = ids[at : at + ROWS]
        with snapshot(engine) as db:
            query = select(Run.id, Run.experiment_id, Run.state).where(Run.id.in_(part), Run.deleted_at.is_(None))
            found = {row.id: row for row in db.execute(query)}
            cells = cells_of(db, [Listed(row.id, row.experiment_id) for row in found.values()], fields)
        yield [
            (run_id, found[run_id].experiment_id, str(found[run_id].state), cells[run_id])
            for run_id in part
            if run_id in found
        ]


def _with_types(columns: Sequence[ExportColumn], parts: Iterator[list[Row]]) -> list[ExportColumn]:
    """Return the columns with types that all their values have: a field of specs may have numbers and texts."""
    seen: list[set[Type]] = [set() for _ in columns]
    for rows in parts:
        for *_, cells in rows:
            for place, value in enumerate(cells):
                if value is not None:
                    seen[place].add(_type_of(value))
    return [one._replace(type=_joint_type(one, types)) for one, types in zip(columns, seen, strict=True)]


def _joint_type(column: ExportColumn, types: set[Type]) -> Type:
    if not types or column.type != "text":
        return column.type
    if types <= {"integer", "number"}:
        return "number" if "number" in types else "integer"
    return types.pop() if len(types) == 1 else "text"


def _type_of(value: Cell) -> Type:
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) else "number" if isinstance(value, float) else "text"


def _block(rows: Sequence[Row], texts: Sequence[int]) -> Block:
    """Return rows as columns; `texts` are the places of columns in which every value becomes a text."""
    columns: list[list[Cell]] = [list(values) for values in zip(*(row[3] for row in rows), strict=True)]
    for place in texts:
        columns[place] = [None if value is None else str(value) for value in columns[place]]
    return Block(len(rows), [*([row[place] for row in rows] for place in range(3)), *columns])
