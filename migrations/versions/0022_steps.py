"""steps: the steps of workflows, their history, and the code that their runs will need

Revision ID: 0022
Revises: 0021
Create Date: 2026-11-26 12:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

OF_STEP = sa.text("step_id IS NOT NULL")


def upgrade() -> None:
    _create_steps()
    op.create_table(
        "step_moves",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("step_id", sa.Integer(), nullable=False),
        sa.Column("old", sa.String(), nullable=True),
        sa.Column("new", sa.String(), nullable=False),
        sa.Column("reason", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_step_moves_step_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_step_moves")),
    )
    op.create_index(op.f("ix_step_moves_step_id"), "step_moves", ["step_id"])
    op.create_table(
        "step_codes",
        sa.Column("step_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_step_codes_step_id")),
        sa.PrimaryKeyConstraint("step_id", "code", name=op.f("pk_step_codes")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_step_codes_code", "step_codes", ["code"])
    op.add_column("experiments", sa.Column("table_base", sa.JSON(), nullable=True))
    op.add_column("runs", sa.Column("step_id", sa.Integer(), nullable=True))
    columns = ["step_id", "state", "deleted_at"]
    op.create_index("ix_runs_step", "runs", columns, sqlite_where=OF_STEP, postgresql_where=OF_STEP)


def _create_steps() -> None:
    op.create_table(
        "steps",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("needs", sa.JSON(), nullable=False),
        sa.Column("on_failure", sa.String(), nullable=False),
        sa.Column("max_parallel", sa.Integer(), nullable=True),
        sa.Column("pack", sa.Integer(), nullable=True),
        sa.Column("force", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("expanded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_steps_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint("experiment_id", "name", name=op.f("uq_steps_experiment_id")),
    )
    op.create_index("ix_steps_state", "steps", ["state", "experiment_id"])


def downgrade() -> None:
    op.drop_index("ix_runs_step", table_name="runs")
    with op.batch_alter_table("runs") as table:
        table.drop_column("step_id")
    op.drop_column("experiments", "table_base")
    op.drop_table("step_codes")
    op.drop_table("step_moves")
    op.drop_table("steps")
