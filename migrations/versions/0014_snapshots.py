"""code snapshots

Revision ID: 0014
Revises: 0013
Create Date: 2026-11-25 14:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshots",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("has_git", sa.Boolean(), nullable=False),
        sa.Column("commit", sa.String(), nullable=True),
        sa.Column("branch", sa.String(), nullable=True),
        sa.Column("staged", sa.Integer(), nullable=False),
        sa.Column("unstaged", sa.Integer(), nullable=False),
        sa.Column("untracked", sa.Integer(), nullable=False),
        sa.Column("unpushed", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_snapshots")),
    )
    op.create_index(op.f("ix_snapshots_used_at"), "snapshots", ["used_at"])
    op.add_column("runs", sa.Column("code", sa.String(), nullable=True))
    where = sa.text("code IS NOT NULL")
    op.create_index("ix_runs_code", "runs", ["code"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    op.drop_index("ix_runs_code", "runs")
    op.drop_column("runs", "code")
    op.drop_index(op.f("ix_snapshots_used_at"), "snapshots")
    op.drop_table("snapshots")
