"""Reports: stored, listed and changed, with their blocks."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from store.tables.base import now
from store.tables.saved import Report, ReportBlockRow

UNDO = timedelta(days=1)  # for so long a deletion can be undone


def add_report(db: Session, title: str, owner: str) -> Report:
    """Store an empty report; remove those whose deletion can no longer be undone."""
    gone = list(db.scalars(select(Report.id).where(Report.deleted_at < now() - UNDO)))
    db.execute(delete(ReportBlockRow).where(ReportBlockRow.report_id.in_(gone)))
    db.execute(delete(Report).where(Report.id.in_(gone)))
    report = Report(title=title, owner=owner)
    db.add(report)
    db.flush()
    return report


def list_reports(db: Session, limit: int) -> list[tuple[Report, int]]:
    """Return the reports with their numbers of blocks, the newest change first."""
    counts = select(func.count()).where(ReportBlockRow.report_id == Report.id).correlate(Report).scalar_subquery()
    query = select(Report, counts).where(Report.deleted_at.is_(None))
    rows = db.execute(query.order_by(Report.updated_at.desc(), Report.id.desc()).limit(limit))
    return [(row[0], row[1]) for row in rows]


def find_report(db: Session, report_id: int, *, for_update: bool = False) -> Report | None:
    """Return a report, also a deleted one whose deletion can be undone; None if there is none."""
    query = select(Report).where(Report.id == report_id)
    report = db.scalar(query.with_for_update() if for_update else query)
    is_gone = report is not None and report.deleted_at is not None and report.deleted_at < now() - UNDO
    return None if is_gone else report


def blocks_of(db: Session, report_id: int) -> Sequence[ReportBlockRow]:
    """Return the blocks of a report in their order."""
    query = select(ReportBlockRow).where(ReportBlockRow.report_id == report_id)
    return db.scalars(query.order_by(ReportBlockRow.place, ReportBlockRow.id)).all()


def add_block(db: Session, report: Report, content: dict[str, Any]) -> ReportBlockRow:
    """Add a block at the end of a locked report."""
    last = select(func.max(ReportBlockRow.place)).where(ReportBlockRow.report_id == report.id)
    block = ReportBlockRow(report_id=report.id, place=(db.scalar(last) or 0) + 1, content=content)
    db.add(block)
    report.updated_at = now()
    db.flush()
    return block


def order_blocks(db: Session, report: Report, order: Sequence[int]) -> None:
    """Give the blocks of a locked report a new order, and remove those that `order` lacks."""
    places = {block_id: place for place, block_id in enumerate(order, 1)}
    for block in blocks_of(db, report.id):
        if block.id in places:
            block.place = places[block.id]
        else:
            db.delete(block)
