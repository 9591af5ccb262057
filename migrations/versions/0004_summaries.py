"""an index for the summaries in the list of experiments

Revision ID: 0004
Revises: 0003
Create Date: 2026-11-21 16:25:00
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_runs_summary", "runs", ["experiment_id", "state", "step", "steps"])


def downgrade() -> None:
    op.drop_index("ix_runs_summary", "runs")
