"""schedules: what is submitted when, each start, and the code that starts need

Revision ID: 0026
Revises: 0025
Create Date: 2026-11-26 17:05:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

IS_GOING = sa.text("paused_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False, server_default=""),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("cron", sa.String(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("missed", sa.String(), nullable=False),
        sa.Column("overlap", sa.String(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("key", name=op.f("uq_schedules_key")),
        sa.UniqueConstraint("name", name=op.f("uq_schedules_name")),
    )
    op.create_index("ix_schedules_next_at", "schedules", ["next_at"], sqlite_where=IS_GOING, postgresql_where=IS_GOING)
    op.create_table(
        "schedule_starts",
        sa.Column("schedule_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=True),
        sa.Column("message", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name=op.f("fk_schedule_starts_schedule_id")),
        sa.PrimaryKeyConstraint("schedule_id", "key", name=op.f("pk_schedule_starts")),
    )
    op.create_table(
        "schedule_codes",
        sa.Column("schedule_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name=op.f("fk_schedule_codes_schedule_id")),
        sa.PrimaryKeyConstraint("schedule_id", "code", name=op.f("pk_schedule_codes")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_schedule_codes_code", "schedule_codes", ["code"])


def downgrade() -> None:
    for table in ("schedule_codes", "schedule_starts", "schedules"):
        op.drop_table(table)
