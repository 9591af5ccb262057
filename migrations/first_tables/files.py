"""The first tables of artifacts, their copies, and code snapshots."""

import sqlalchemy as sa

from migrations.first_tables.metadata import METADATA, where

sa.Table(
    "artifacts",
    METADATA,
    sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("name", sa.String(), nullable=False),
    sa.Column("holder_id", sa.Integer(), nullable=False),
    sa.Column("kind", sa.String(), nullable=False),
    sa.Column("path", sa.String(), nullable=False),
    sa.Column("size_bytes", sa.BigInteger(), nullable=False),
    sa.Column("files", sa.Integer(), nullable=False),
    sa.Column("sha256", sa.String(), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("removed_at", sa.DateTime(timezone=True)),
    sa.Column("removed_because", sa.String()),
    sa.Column("has_retention", sa.Boolean(), nullable=False),
    sa.PrimaryKeyConstraint("run_id", "attempt", "name", name="pk_artifacts"),
    sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_artifacts_run_id"),
    sa.Index("ix_artifacts_holder_id", "holder_id", **where("removed_at IS NULL")),
    sa.Index("ix_artifacts_retention", "run_id", **where("has_retention")),
    sqlite_with_rowid=False,
)

sa.Table(
    "file_hashes",
    METADATA,
    sa.Column("path", sa.String(), nullable=False),
    sa.Column("size_bytes", sa.BigInteger(), nullable=False),
    sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
    sa.Column("ctime_ns", sa.BigInteger(), nullable=False),
    sa.Column("inode", sa.String(), nullable=False),
    sa.Column("sha256", sa.String(), nullable=False),
    sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("path", name="pk_file_hashes"),
    sa.Index("ix_file_hashes_used_at", "used_at"),
    sqlite_with_rowid=False,
)

sa.Table(
    "mirror_copies",
    METADATA,
    sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("name", sa.String(), nullable=False),
    sa.Column("state", sa.String(), nullable=False),
    sa.Column("store", sa.String()),
    sa.Column("place", sa.String()),
    sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("claims", sa.Integer(), nullable=False),
    sa.Column("faults", sa.Integer(), nullable=False),
    sa.Column("problem", sa.String()),
    sa.Column("copied_at", sa.DateTime(timezone=True)),
    sa.Column("manifest_sha256", sa.String()),
    sa.PrimaryKeyConstraint("run_id", "attempt", "name", name="pk_mirror_copies"),
    sa.Index("ix_mirror_copies_due", "due_at", **where("state IN ('waiting', 'removing')")),
    sqlite_with_rowid=False,
)

sa.Table(
    "store_outages",
    METADATA,
    sa.Column("url", sa.String(), nullable=False),
    sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("tries", sa.Integer(), nullable=False),
    sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("problem", sa.String(), nullable=False),
    sa.PrimaryKeyConstraint("url", name="pk_store_outages"),
    sqlite_with_rowid=False,
)

sa.Table(
    "snapshots",
    METADATA,
    sa.Column("hash", sa.String(), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("size", sa.BigInteger(), nullable=False),
    sa.Column("files", sa.Integer(), nullable=False),
    sa.Column("has_git", sa.Boolean(), nullable=False),
    sa.Column("commit", sa.String()),
    sa.Column("branch", sa.String()),
    sa.Column("staged", sa.Integer(), nullable=False),
    sa.Column("unstaged", sa.Integer(), nullable=False),
    sa.Column("untracked", sa.Integer(), nullable=False),
    sa.Column("unpushed", sa.Integer()),
    sa.PrimaryKeyConstraint("hash", name="pk_snapshots"),
    sa.Index("ix_snapshots_used_at", "used_at"),
)
