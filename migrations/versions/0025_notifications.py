"""notifications: targets, rules, occurrences that no message has yet, and deliveries

Revision ID: 0025
Revises: 0024
Create Date: 2026-11-26 16:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

IS_WAITING = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "notify_targets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=True),
        sa.Column("owner", sa.String(), nullable=False, server_default=""),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notify_targets")),
        sa.UniqueConstraint("name", name=op.f("uq_notify_targets_name")),
    )
    op.create_table(
        "notify_rules",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=True),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["target_id"], ["notify_targets.id"], name=op.f("fk_notify_rules_target_id")),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_notify_rules_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notify_rules")),
    )
    for column in ("target_id", "experiment_id", "owner"):
        op.create_index(op.f(f"ix_notify_rules_{column}"), "notify_rules", [column])
    op.create_table(
        "occurrences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_occurrences")),
    )
    op.create_index("ix_occurrences_experiment_id", "occurrences", ["experiment_id", "event"])
    _create_deliveries()


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("target_name", sa.String(), nullable=False),
        sa.Column("experiment_id", sa.Integer(), nullable=True),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("key", name=op.f("uq_deliveries_key")),
    )
    op.create_index(
        "ix_deliveries_due", "deliveries", ["not_before"], sqlite_where=IS_WAITING, postgresql_where=IS_WAITING
    )
    op.create_index("ix_deliveries_experiment_id", "deliveries", ["experiment_id", "event", "created_at"])
    op.create_index("ix_deliveries_target_id", "deliveries", ["target_id", "status"])


def downgrade() -> None:
    for table in ("deliveries", "occurrences", "notify_rules", "notify_targets"):
        op.drop_table(table)
