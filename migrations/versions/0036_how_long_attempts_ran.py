"""how long each attempt ran, and the attempts of a run together

Revision ID: 0036
Revises: 0035
Create Date: 2026-11-30 02:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

SECONDS = {
    "sqlite": "(julianday({end}) - julianday({begin})) * 86400.0",
    "postgresql": "CAST(extract(epoch FROM {end} - {begin}) AS DOUBLE PRECISION)",
}


def upgrade() -> None:
    op.add_column("jobs", sa.Column("ran_s", sa.Double(), nullable=True))
    op.add_column("runs", sa.Column("ran_s", sa.Double(), nullable=True))
    # what an earlier version stored is all that is known of old attempts; of old runs it may contain gaps
    seconds = SECONDS[op.get_bind().dialect.name].format(begin="started_at", end="ended_at")
    op.execute(f"UPDATE jobs SET ran_s = {seconds} WHERE started_at <= ended_at")
    op.execute(f"UPDATE runs SET ran_s = {seconds} WHERE started_at <= ended_at")
    of_attempts = "SELECT sum(jobs.ran_s) FROM jobs WHERE jobs.run_id = runs.id"
    op.execute(f"UPDATE runs SET ran_s = ({of_attempts}) WHERE ended_at IS NULL AND started_at IS NOT NULL")


def downgrade() -> None:
    op.drop_column("runs", "ran_s")
    op.drop_column("jobs", "ran_s")
