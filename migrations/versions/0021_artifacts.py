"""artifacts: what runs leave, the hashes of input files, and what a run takes from a finished one

Revision ID: 0021
Revises: 0020
Create Date: 2026-11-26 12:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

IS_THERE = sa.text("removed_at IS NULL")
MAY_GO = sa.text("removed_at IS NULL AND has_retention")
HAS_REUSE = sa.text("reuse IS NOT NULL")
HAS_KEY = sa.text("reuse_key IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("attempt", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_because", sa.String(), nullable=True),
        sa.Column("has_retention", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_artifacts_run_id")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "name", name=op.f("pk_artifacts")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_artifacts_holder_id", "artifacts", ["holder_id"], sqlite_where=IS_THERE, postgresql_where=IS_THERE
    )
    op.create_index("ix_artifacts_retention", "artifacts", ["run_id"], sqlite_where=MAY_GO, postgresql_where=MAY_GO)
    op.create_table(
        "file_hashes",
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("ctime_ns", sa.BigInteger(), nullable=False),
        sa.Column("inode", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_file_hashes")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_file_hashes_used_at", "file_hashes", ["used_at"])
    op.add_column("runs", sa.Column("reuse", sa.String(), nullable=True))
    op.add_column("runs", sa.Column("reuse_key", sa.String(), nullable=True))
    op.add_column("runs", sa.Column("input_hashes", sa.JSON(), nullable=True))
    op.add_column("runs", sa.Column("taken_from", sa.Integer(), nullable=True))
    op.create_index("ix_runs_reuse", "runs", ["reuse", "id"], sqlite_where=HAS_REUSE, postgresql_where=HAS_REUSE)
    op.create_index("ix_runs_reuse_key", "runs", ["reuse_key", "id"], sqlite_where=HAS_KEY, postgresql_where=HAS_KEY)


def downgrade() -> None:
    op.drop_index("ix_runs_reuse_key", "runs")
    op.drop_index("ix_runs_reuse", "runs")
    for name in ("taken_from", "input_hashes", "reuse_key", "reuse"):
        op.drop_column("runs", name)
    op.drop_index("ix_file_hashes_used_at", table_name="file_hashes")
    op.drop_table("file_hashes")
    op.drop_index("ix_artifacts_retention", table_name="artifacts")
    op.drop_index("ix_artifacts_holder_id", table_name="artifacts")
    op.drop_table("artifacts")
