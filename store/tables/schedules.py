"""The tables of schedules: what is submitted when, each start, and the code that starts need."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.schedule import Missed, Overlap, StartStatus
from store.tables.base import Table, now
from store.tables.column_types import EnumText

IS_GOING = text("paused_at IS NULL")


class Schedule(Table):
    """An experiment that is submitted at the moments of `cron`, or for each new version of the file at `path`."""

    __tablename__ = "schedules"
    __table_args__ = (Index("ix_schedules_next_at", "next_at", sqlite_where=IS_GOING, postgresql_where=IS_GOING),)
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)  # unlike ids never used again
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"), unique=True)
    owner: Mapped[str] = mapped_column(default="", server_default="")
    spec: Mapped[dict[str, Any]]
    cron: Mapped[str | None]
    time_zone: Mapped[str]
    path: Mapped[str | None]
    missed: Mapped[Missed] = mapped_column(EnumText(Missed))
    overlap: Mapped[Overlap] = mapped_column(EnumText(Overlap))
    next_at: Mapped[datetime | None]  # None: it follows a file
    version: Mapped[int] = mapped_column(default=0)  # grows with each change: a tick acts on what it has read
    created_at: Mapped[datetime] = mapped_column(default=now)
    paused_at: Mapped[datetime | None]


class ScheduleStart(Table):
    """One start of a schedule: `key` is its moment, or the version of the file. No start is made twice."""

    __tablename__ = "schedule_starts"
    schedule_id: Mapped[int] = mapped_column(ForeignKey("schedules.id"), primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(primary_key=True)
    status: Mapped[StartStatus] = mapped_column(EnumText(StartStatus))
    experiment_id: Mapped[int | None]
    message: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(default=now)


class ScheduleCode(Table):
    """A code snapshot that the runs of a schedule's next experiments will need."""

    __tablename__ = "schedule_codes"
    __table_args__ = (Index("ix_schedule_codes_code", "code"), {"sqlite_with_rowid": False})
    schedule_id: Mapped[int] = mapped_column(ForeignKey("schedules.id"), primary_key=True, autoincrement=False)
    code: Mapped[str] = mapped_column(primary_key=True)
