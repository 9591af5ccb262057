"""The tables of what people save of the dashboard: views, and reports with their blocks."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from contract.api.saved.views import ViewPage
from store.tables.base import Table, now
from store.tables.column_types import EnumText


class SavedView(Table):
    """What a page of the dashboard shows, by a name."""

    __tablename__ = "views"
    __table_args__ = (Index("ix_views_page", "page", "name"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    # in the order of code points on both databases
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"))
    page: Mapped[ViewPage] = mapped_column(EnumText(ViewPage))
    query: Mapped[str]  # of the page's address
    owner: Mapped[str] = mapped_column(default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class Report(Table):
    __tablename__ = "reports"
    __table_args__ = (Index("ix_reports_updated_at", "updated_at", "id"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    owner: Mapped[str] = mapped_column(default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class ReportBlockRow(Table):
    """A block; `place` orders the blocks of a report."""

    __tablename__ = "report_blocks"
    __table_args__ = (Index("ix_report_blocks_report_id", "report_id", "place"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    report_id: Mapped[int] = mapped_column(ForeignKey("reports.id"))
    place: Mapped[int]
    content: Mapped[dict[str, Any]]  # contract/api/saved/reports
