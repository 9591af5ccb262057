"""The tables of artifacts, and of the hashes of input files."""

from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, ForeignKey, Index, literal_column, text
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from store.tables.base import Table, now
from store.tables.column_types import EnumText

IS_THERE = text("removed_at IS NULL")
# one text for the index and for the queries, because SQLite uses such an index only for its very condition
HAS_RETENTION: ColumnElement[bool] = literal_column("has_retention")


class Artifact(Table):
    """An output or a checkpoint that an attempt of a run recorded at its end.

    A run that took its result from another run has rows of its own; `holder_id` is the run in whose folder the files
    are.
    """

    __tablename__ = "artifacts"
    __table_args__ = (
        Index("ix_artifacts_holder_id", "holder_id", sqlite_where=IS_THERE, postgresql_where=IS_THERE),
        Index("ix_artifacts_retention", "run_id", sqlite_where=HAS_RETENTION, postgresql_where=HAS_RETENTION),
        {"sqlite_with_rowid": False},
    )
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: taken from another run
    name: Mapped[str] = mapped_column(primary_key=True)
    holder_id: Mapped[int]
    kind: Mapped[ArtifactKind] = mapped_column(EnumText(ArtifactKind))
    path: Mapped[str]  # in the holder's folder
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    files: Mapped[int]
    sha256: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    removed_at: Mapped[datetime | None]
    removed_because: Mapped[RemovalCause | None] = mapped_column(EnumText(RemovalCause))
    # the tick `prune` asks the spec's `keep` whether it may go; with `removed_at`: its files are still to be removed
    has_retention: Mapped[bool]


class FileHash(Table):
    """The hash of an input file as it was with this status: a file whose status is the same is not read again."""

    __tablename__ = "file_hashes"
    __table_args__ = (Index("ix_file_hashes_used_at", "used_at"), {"sqlite_with_rowid": False})
    path: Mapped[str] = mapped_column(primary_key=True)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    mtime_ns: Mapped[int] = mapped_column(BigInteger)
    ctime_ns: Mapped[int] = mapped_column(BigInteger)
    inode: Mapped[str]  # of 64 bits without a sign, which no column has
    sha256: Mapped[str]
    used_at: Mapped[datetime] = mapped_column(default=now)
