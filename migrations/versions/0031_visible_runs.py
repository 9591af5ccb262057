"""an index of the runs that lists show, which the table of runs counts

Revision ID: 0031
Revises: 0030
Create Date: 2026-11-27 16:25:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    where = sa.text("deleted_at IS NULL AND archived_at IS NULL")
    op.create_index("ix_runs_visible", "runs", ["id"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    op.drop_index("ix_runs_visible", "runs")
