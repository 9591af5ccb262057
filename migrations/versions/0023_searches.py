"""searches: sweeps whose trials a sampler chooses

Revision ID: 0023
Revises: 0022
Create Date: 2026-11-26 12:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

IS_OPEN = sa.text("ended_at IS NULL")


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "searches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("base", sa.JSON(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("paused_at", moment, nullable=True),
        sa.Column("stop_requested_at", moment, nullable=True),
        sa.Column("ended_at", moment, nullable=True),
        sa.Column("end_cause", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_searches_experiment_id"),
        sa.PrimaryKeyConstraint("id", name="pk_searches"),
        sa.UniqueConstraint("experiment_id", "step", name="uq_searches_experiment_id"),
    )
    op.create_index("ix_searches_open", "searches", ["id"], sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)
    op.create_table(
        "trials",
        sa.Column("search_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("memory", sa.JSON(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("bracket", sa.Integer(), nullable=False),
        sa.Column("rungs", sa.JSON(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("first_run", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("message", sa.String(), nullable=True),
        sa.Column("asked_at", moment, nullable=False),
        sa.Column("ended_at", moment, nullable=True),
        sa.ForeignKeyConstraint(["search_id"], ["searches.id"], name="fk_trials_search_id"),
        sa.PrimaryKeyConstraint("search_id", "number", name="pk_trials"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("trials")
    op.drop_index("ix_searches_open", "searches")
    op.drop_table("searches")
