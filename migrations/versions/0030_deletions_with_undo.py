"""deletions that can be undone for a while

Revision ID: 0030
Revises: 0029
Create Date: 2026-11-27 04:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

TABLES = ("experiments", "runs")


def upgrade() -> None:
    # rows that are deleted already get no moment: their removal has begun
    for table in TABLES:
        op.add_column(table, sa.Column("restorable_until", sa.DateTime(timezone=True), nullable=True))
        name, where = f"ix_{table}_restorable_until", sa.text("restorable_until IS NOT NULL")
        op.create_index(name, table, ["restorable_until"], sqlite_where=where, postgresql_where=where)
    # the nodes on which attempts failed
    op.create_index("ix_jobs_ended_at", "jobs", ["ended_at"])
    op.create_index("ix_jobs_exit_cause", "jobs", ["exit_cause", "ended_at"])


def downgrade() -> None:
    op.drop_index("ix_jobs_exit_cause", "jobs")
    op.drop_index("ix_jobs_ended_at", "jobs")
    for table in TABLES:
        # the earlier version removes at once what is deleted, and these deletions can still be undone
        op.execute(f"UPDATE {table} SET deleted_at = NULL WHERE restorable_until IS NOT NULL")
        op.drop_index(f"ix_{table}_restorable_until", table)
        op.drop_column(table, "restorable_until")
