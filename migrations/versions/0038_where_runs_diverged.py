"""where runs diverged: from which step on a metric is no finite number

Revision ID: 0038
Revises: 0037
Create Date: 2026-12-01 01:00:00
"""

import sqlalchemy as sa
from alembic import op

from migrations import figure_rows

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

HAS_DIVERGED = sa.text("diverged IS NOT NULL")


def upgrade() -> None:
    op.add_column("figures", sa.Column("not_finite", sa.String(), nullable=True))
    op.add_column("figures", sa.Column("not_finite_from", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("diverged", sa.JSON(), nullable=True))
    figure_rows.add_ends(op.get_bind())
    figure_rows.add_divergences(op.get_bind())
    op.create_index(
        "ix_runs_diverged", "runs", ["experiment_id"], sqlite_where=HAS_DIVERGED, postgresql_where=HAS_DIVERGED
    )


def downgrade() -> None:
    op.drop_index("ix_runs_diverged", table_name="runs")
    op.drop_column("runs", "diverged")
    op.drop_column("figures", "not_finite_from")
    op.drop_column("figures", "not_finite")
