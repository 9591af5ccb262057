"""The table of code snapshots."""

from datetime import datetime

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from store.tables.base import Table, now


class Snapshot(Table):
    """A complete code snapshot, whose contents and manifest are on disk (contract/snapshot/blob_store.py)."""

    __tablename__ = "snapshots"
    hash: Mapped[str] = mapped_column(primary_key=True)  # of its manifest
    created_at: Mapped[datetime] = mapped_column(default=now)
    used_at: Mapped[datetime] = mapped_column(default=now, index=True)  # when a client last sent or submitted it
    size: Mapped[int] = mapped_column(BigInteger)
    files: Mapped[int]
    has_git: Mapped[bool]
    commit: Mapped[str | None]
    branch: Mapped[str | None]
    staged: Mapped[int]
    unstaged: Mapped[int]
    untracked: Mapped[int]
    unpushed: Mapped[int | None]
