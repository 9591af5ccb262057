"""Points of any runs as a table: a row for each point, in the order of runs, series and steps."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.exports.answer import EXPORT, stream
from api.exports.formats import Block, ExportColumn, ExportFormat, Repeated
from api.parameters import MAX_INTEGER, MAX_SERIES, SeriesName
from api.points.curves import FromStep, ToStep
from api.run_table.selection import Selected
from contract.validation import ValidationIssue
from store.metrics.curves import in_parts
from store.tables.runs import Run

router = APIRouter(prefix="/export", tags=["export"])
COLUMNS = (
    ExportColumn("run", "integer"),
    ExportColumn("series", "text"),
    ExportColumn("step", "integer"),
    ExportColumn("value", "number"),
)
Format = Annotated[ExportFormat, Query(alias="format", description="Format of the file.", examples=["csv"])]
Names = Annotated[
    Sequence[SeriesName], Query(max_length=MAX_SERIES, description="Names of series; without one, all series.")
]


@router.get("/points", response_class=StreamingResponse, responses=EXPORT)
def export_points(
    request: Request,
    db: Reading,
    selected: Selected,
    form: Format = ExportFormat.CSV,
    name: Names = (),
    first: FromStep = 0,
    last: ToStep = MAX_INTEGER,
) -> StreamingResponse:
    """Return every point of the selected runs, a row for each."""
    _refuse_absent(db, selected.runs)
    which = selected.conditions(db)
    ids = list(db.scalars(select(Run.id.label("export_run_id")).where(*which).order_by(Run.id)))
    return stream(form, "points", COLUMNS, _blocks(request.app.state.engine, ids, name, first, last))


def _refuse_absent(db: Session, run_ids: Sequence[int]) -> None:
    """Raise Invalid for a named run that does not exist: a file without its points would look complete."""
    if not run_ids:
        return
    there = set(db.scalars(select(Run.id).where(Run.id.in_(run_ids), Run.deleted_at.is_(None))))
    if absent := sorted(set(run_ids) - there):
        message = f"there is no run {absent[0]}"
        raise Invalid("the request is not valid", [ValidationIssue(path="run", message=message)])


def _blocks(engine: Engine, run_ids: Sequence[int], names: Sequence[str], first: int, last: int) -> Iterator[Block]:
    for run_id in run_ids:
        for part in in_parts(engine, run_id, names, first=first, last=last):
            steps, values = part.points
            yield Block(len(steps), (Repeated(run_id), Repeated(part.name), steps, values))
