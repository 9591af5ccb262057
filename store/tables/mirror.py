"""The tables of copies in the object store."""

from datetime import datetime

from sqlalchemy import ColumnElement, Index, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.artifact import CopyState
from store.tables.base import Table, now
from store.tables.column_types import EnumText

# one text for the index and for the queries, because SQLite uses such an index only for its very condition
IS_OPEN: ColumnElement[bool] = literal_column("state IN ('waiting', 'removing')")


class MirrorCopy(Table):
    """The copy of an artifact that an attempt of a run recorded.

    The row outlives the artifact's until the object store has removed the objects.
    """

    __tablename__ = "mirror_copies"
    __table_args__ = (
        Index("ix_mirror_copies_due", "due_at", sqlite_where=IS_OPEN, postgresql_where=IS_OPEN),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[CopyState] = mapped_column(EnumText(CopyState))
    store: Mapped[str | None]  # URL of the store that has the objects, or a part of them; None: no worker has begun
    place: Mapped[str | None]  # of the objects in the store
    due_at: Mapped[datetime] = mapped_column(default=now)  # no worker begins before: another one has it, or it failed
    claims: Mapped[int]  # by workers, all together: the number of the last one shows who has the copy
    faults: Mapped[int]  # of the files, in a row: not of the store
    problem: Mapped[str | None]  # of the last try
    copied_at: Mapped[datetime | None]
    manifest_sha256: Mapped[str | None]  # of the list of its files and their hashes, which the store has


class StoreOutage(Table):
    """An object store that failed at the last try."""

    __tablename__ = "store_outages"
    __table_args__ = {"sqlite_with_rowid": False}
    url: Mapped[str] = mapped_column(primary_key=True)
    began_at: Mapped[datetime] = mapped_column(default=now)
    tries: Mapped[int]
    next_try_at: Mapped[datetime]
    problem: Mapped[str]
