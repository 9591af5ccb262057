"""when an attempt started, by how much its host's clock is wrong, and an index of the runs that ended lately

Revision ID: 0032
Revises: 0031
Create Date: 2026-11-29 11:45:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("jobs", sa.Column("clock_shift_s", sa.Double(), nullable=False, server_default="0"))
    where = sa.text("ended_at IS NOT NULL")
    op.create_index("ix_runs_moved_at", "runs", ["moved_at"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    op.drop_index("ix_runs_moved_at", "runs")
    op.drop_column("jobs", "clock_shift_s")
    op.drop_column("jobs", "started_at")
