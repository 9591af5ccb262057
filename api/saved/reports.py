"""Reports: list, begin, change, delete with undo; add blocks; export as one file."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import TypeAdapter

from api.database import Reading, Writing
from api.errors import Conflict, NotFound
from api.http.bodies import REFERENCE, body_of, describe_body
from api.http.json_body import json_body_of
from api.http.statuses import ACTION, CHANGE, CREATION, ITEM, LIST
from api.parameters import MAX_INTEGER, Limit, UserName
from api.saved.report_file import html_of, markdown_of
from contract.api.saved.reports import (
    MAX_BLOCKS,
    AddedBlock,
    ExportedReportFormat,
    NewBlock,
    NewReport,
    ReportBlock,
    ReportChange,
    ReportDetail,
    Reports,
    ReportView,
    TextBlock,
)
from store.saved.reports import add_block, add_report, blocks_of, find_report, list_reports, order_blocks
from store.tables.base import now
from store.tables.saved import Report, ReportBlockRow

router = APIRouter(prefix="/reports", tags=["reports"])
ReportId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the report.", examples=[3])]
BlockId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the block.", examples=[5])]
Form = Annotated[
    ExportedReportFormat, Query(alias="format", description="Form of the file: one HTML page, or Markdown.")
]
MAX_BYTES = 8_000_000  # of a block: a picture with its data
BLOCK_BODY = {
    "requestBody": {
        "description": "The block, as JSON.",
        "required": True,
        "content": {"application/json": {"schema": {"$ref": REFERENCE.format(model=AddedBlock.__name__)}}},
    }
}
content_reader: TypeAdapter[NewBlock] = TypeAdapter(NewBlock)


@router.get("", responses=LIST)
def get_reports(db: Reading, limit: Limit = 100) -> Reports:
    """Return the reports, the newest change first."""
    return Reports(reports=[_view(report, count) for report, count in list_reports(db, limit)])


@router.post(
    "",
    status_code=201,
    responses=CREATION,
    openapi_extra=describe_body(NewReport, "The report, as JSON or YAML."),
)
def create_report(
    new: Annotated[NewReport, Depends(body_of(NewReport, what="the report"))], db: Writing, user: UserName = None
) -> ReportView:
    """Begin an empty report."""
    return _view(add_report(db, new.title, user or ""), 0)


@router.get("/{report_id:id}", responses=ITEM)
def get_report(report_id: ReportId, db: Reading) -> ReportDetail:
    """Return a report with its blocks; also a deleted one, for a day."""
    return _detail(_found(find_report(db, report_id), report_id), blocks_of(db, report_id))


@router.patch(
    "/{report_id:id}",
    responses=ACTION,
    openapi_extra=describe_body(ReportChange, "The changes, as JSON or YAML.", required=False),
)
def patch_report(
    report_id: ReportId,
    change: Annotated[ReportChange, Depends(body_of(ReportChange, what="the change", required=False))],
    db: Writing,
) -> ReportDetail:
    """Rename a report, order its blocks or remove some, delete it, or undo its deletion within a day."""
    report = _found(find_report(db, report_id, for_update=True), report_id)
    if change.title is not None:
        report.title = change.title
    if change.order is not None:
        order_blocks(db, report, change.order)
    if change.deleted is not None and change.deleted != (report.deleted_at is not None):
        report.deleted_at = now() if change.deleted else None
    report.updated_at = now()
    db.flush()
    return _detail(report, blocks_of(db, report_id))


@router.post("/{report_id:id}/blocks", status_code=201, responses=CHANGE, openapi_extra=BLOCK_BODY)
def add_report_block(
    report_id: ReportId,
    added: Annotated[AddedBlock, Depends(json_body_of(AddedBlock, what="the block", max_bytes=MAX_BYTES))],
    db: Writing,
) -> ReportBlock:
    """Add a block at the end of a report: a text, a table of runs, or a picture with its data."""
    report = _found(find_report(db, report_id, for_update=True), report_id)
    if len(blocks_of(db, report_id)) >= MAX_BLOCKS:
        raise Conflict(f"a report has at most {MAX_BLOCKS} blocks")
    return _block(add_block(db, report, added.content.model_dump(mode="json")))


@router.put(
    "/{report_id:id}/blocks/{block_id:id}",
    responses=ACTION,
    openapi_extra=describe_body(TextBlock, "The new text, as JSON or YAML."),
)
def replace_report_text(
    report_id: ReportId,
    block_id: BlockId,
    text: Annotated[TextBlock, Depends(body_of(TextBlock, what="the text"))],
    db: Writing,
) -> ReportBlock:
    """Replace a text of a report."""
    report = _found(find_report(db, report_id, for_update=True), report_id)
    block = db.get(ReportBlockRow, block_id)
    if block is None or block.report_id != report_id or block.content.get("kind") != "text":
        raise NotFound(f"report {report_id} has no text {block_id}")
    block.content, report.updated_at = text.model_dump(mode="json"), now()
    return _block(block)


@router.get(
    "/{report_id:id}/file",
    response_class=Response,
    responses={
        200: {
            "description": "The report as one file.",
            "content": {"text/html": {"schema": {"type": "string"}}, "text/markdown": {"schema": {"type": "string"}}},
        },
        **ITEM,
    },
)
def export_report(report_id: ReportId, db: Reading, form: Form = ExportedReportFormat.HTML) -> Response:
    """Return a report as one file that needs no other: its texts, pictures, and their data."""
    report = _detail(_found(find_report(db, report_id), report_id), blocks_of(db, report_id))
    is_html = form is ExportedReportFormat.HTML
    text = html_of(db, report) if is_html else markdown_of(db, report)
    headers = {"Content-Disposition": f'attachment; filename="report-{report_id}.{form}"'}
    return Response(text, media_type="text/html" if is_html else "text/markdown", headers=headers)


def _found(report: Report | None, report_id: int) -> Report:
    if report is None:
        raise NotFound(f"there is no report {report_id}")
    return report


def _view(report: Report, count: int) -> ReportView:
    return ReportView(
        id=report.id,
        title=report.title,
        owner=report.owner,
        blocks=count,
        updated_at=report.updated_at,
        deleted_at=report.deleted_at,
    )


def _detail(report: Report, blocks: Sequence[ReportBlockRow]) -> ReportDetail:
    return ReportDetail(**_view(report, len(blocks)).model_dump(), content=[_block(block) for block in blocks])


def _block(block: ReportBlockRow) -> ReportBlock:
    return ReportBlock(id=block.id, content=content_reader.validate_python(block.content))
