"""changes: which runs and experiments changed, for pages that follow along

Revision ID: 0018
Revises: 0017
Create Date: 2026-11-26 09:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("experiment_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("points_version", sa.BigInteger(), nullable=False),
        sa.Column("details_version", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("experiment_id", "run_id", name=op.f("pk_changes")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_changes_version"), "changes", ["version"])


def downgrade() -> None:
    op.drop_index(op.f("ix_changes_version"), table_name="changes")
    op.drop_table("changes")
