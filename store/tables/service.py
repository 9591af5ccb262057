"""The tables of the service itself: its identity, its periodic tasks, what changed, and signed values that ended."""

from datetime import datetime

from sqlalchemy import BigInteger, Index
from sqlalchemy.orm import Mapped, mapped_column

from store.tables.base import Table


class Service(Table):
    """The one row of this service."""

    __tablename__ = "service"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 1
    identity: Mapped[str]
    marks: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # that were written to the folder
    # the highest ids given; PostgreSQL's sequences have them instead
    experiments: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    runs: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")


class Tick(Table):
    """When each periodic task last succeeded, on any worker; the scheduler writes it, the API reads it."""

    __tablename__ = "ticks"
    name: Mapped[str] = mapped_column(primary_key=True)
    period_s: Mapped[float]
    succeeded_at: Mapped[datetime]
    # sums over all workers since the service began
    runs: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # completed
    failures: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    seconds: Mapped[float] = mapped_column(default=0.0, server_default="0")  # of the completed runs
    reports: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # of `ingest`: new parts of files
    lag_s: Mapped[float] = mapped_column(default=0.0, server_default="0")  # ages of their first points when stored


class Change(Table):
    """The newest change of a run, or of an experiment's own fields and its set of runs (`run_id` 0)."""

    __tablename__ = "changes"
    __table_args__ = {"sqlite_with_rowid": False}
    experiment_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: SQLite's counter
    run_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(BigInteger, index=True)
    points_version: Mapped[int] = mapped_column(BigInteger)  # of the newest change of points; 0: none
    details_version: Mapped[int] = mapped_column(BigInteger)  # of the newest change of anything else; 0: none
    at: Mapped[datetime]


class EndedValue(Table):
    """A signed value that no process of the API accepts any more."""

    __tablename__ = "ended_values"
    __table_args__ = (Index("ix_ended_values_expires_at", "expires_at"), {"sqlite_with_rowid": False})
    nonce: Mapped[str] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime]
