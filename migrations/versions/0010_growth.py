"""growth: moments of removals, the best accuracy of runs, and indexes of large tables

Revision ID: 0010
Revises: 0009
Create Date: 2026-11-23 14:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

SUMMARY = ["experiment_id", "state", "step", "steps"]
REMOVALS = ("points", "history")
BEST_ACCURACY = """
UPDATE runs SET best_accuracy = (
    SELECT max(points.value) FROM series JOIN points ON points.series_id = series.id
    WHERE series.run_id = runs.id AND series.name = 'heldout_accuracy'
)
"""


def upgrade() -> None:
    """Add the columns and indexes, and read the best accuracy of each run from its points."""
    op.add_column("runs", sa.Column("best_accuracy", sa.Double(), nullable=True))
    for name in REMOVALS:
        op.add_column("runs", sa.Column(f"{name}_removed_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(BEST_ACCURACY)
    op.drop_index("ix_runs_summary", "runs")
    op.create_index("ix_runs_summary", "runs", [*SUMMARY, "best_accuracy"])
    op.drop_index("ix_runs_state", "runs")
    op.create_index("ix_runs_state", "runs", ["state", "id"])
    where = sa.text("ended_at IS NOT NULL")
    op.create_index("ix_runs_state_ended_at", "runs", ["state", "ended_at"], sqlite_where=where, postgresql_where=where)
    for table in ("runs", "experiments"):
        op.create_index(f"ix_{table}_created_at", table, ["created_at", "id"])
    if op.get_bind().dialect.name == "postgresql":  # names in the order of code points, as in SQLite
        op.alter_column("experiments", "name", type_=sa.String(collation="C"))
    op.create_index("ix_experiments_name", "experiments", ["name"])
    for name in REMOVALS:
        where = sa.text(f"{name}_removed_at IS NULL")
        op.create_index(f"ix_runs_{name}", "runs", ["ended_at"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Remove them; removed points do not come back."""
    op.drop_index("ix_experiments_name", "experiments")
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("experiments", "name", type_=sa.String())
    op.drop_index("ix_runs_state_ended_at", "runs")
    for table in ("runs", "experiments"):
        op.drop_index(f"ix_{table}_created_at", table)
    op.drop_index("ix_runs_state", "runs")
    op.create_index("ix_runs_state", "runs", ["state"])
    op.drop_index("ix_runs_summary", "runs")
    op.create_index("ix_runs_summary", "runs", SUMMARY)
    for name in REMOVALS:
        op.drop_index(f"ix_runs_{name}", "runs")
        op.drop_column("runs", f"{name}_removed_at")
    op.drop_column("runs", "best_accuracy")
