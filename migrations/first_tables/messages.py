"""The first tables of notifications, and of what people save."""

import sqlalchemy as sa

from migrations.first_tables.metadata import METADATA, where

sa.Table(
    "notify_targets",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("name", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
    sa.Column("kind", sa.String(), nullable=False),
    sa.Column("address", sa.String(), nullable=False),
    sa.Column("secret", sa.String()),
    sa.Column("owner", sa.String(), server_default="", nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("delivered_at", sa.DateTime(timezone=True)),
    sa.Column("error", sa.String()),
    sa.PrimaryKeyConstraint("id", name="pk_notify_targets"),
    sa.UniqueConstraint("name", name="uq_notify_targets_name"),
)

sa.Table(
    "notify_rules",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("target_id", sa.Integer(), nullable=False),
    sa.Column("experiment_id", sa.Integer()),
    sa.Column("owner", sa.String()),
    sa.Column("events", sa.JSON(), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("id", name="pk_notify_rules"),
    sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_notify_rules_experiment_id"),
    sa.ForeignKeyConstraint(["target_id"], ["notify_targets.id"], name="fk_notify_rules_target_id"),
    sa.Index("ix_notify_rules_experiment_id", "experiment_id"),
    sa.Index("ix_notify_rules_owner", "owner"),
    sa.Index("ix_notify_rules_target_id", "target_id"),
)

sa.Table(
    "occurrences",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("experiment_id", sa.Integer(), nullable=False),
    sa.Column("event", sa.String(), nullable=False),
    sa.Column("run_id", sa.Integer()),
    sa.Column("detail", sa.JSON(), nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("id", name="pk_occurrences"),
    sa.Index("ix_occurrences_experiment_id", "experiment_id", "event"),
)

sa.Table(
    "deliveries",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("key", sa.String(), nullable=False),
    sa.Column("target_id", sa.Integer(), nullable=False),
    sa.Column("target_name", sa.String(), nullable=False),
    sa.Column("experiment_id", sa.Integer()),
    sa.Column("event", sa.String(), nullable=False),
    sa.Column("title", sa.String(), nullable=False),
    sa.Column("body", sa.JSON(), nullable=False),
    sa.Column("status", sa.String(), nullable=False),
    sa.Column("attempts", sa.Integer(), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
    sa.Column("ended_at", sa.DateTime(timezone=True)),
    sa.Column("error", sa.String()),
    sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    sa.UniqueConstraint("key", name="uq_deliveries_key"),
    sa.Index("ix_deliveries_due", "not_before", **where("ended_at IS NULL")),
    sa.Index("ix_deliveries_experiment_id", "experiment_id", "event", "created_at"),
    sa.Index("ix_deliveries_target_id", "target_id", "status"),
)

sa.Table(
    "divergences",
    METADATA,
    sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("name", sa.String(), nullable=False),
    sa.Column("step", sa.Integer(), nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("run_id", name="pk_divergences"),
    sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_divergences_run_id"),
    sqlite_with_rowid=False,
)

sa.Table(
    "views",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("name", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
    sa.Column("page", sa.String(), nullable=False),
    sa.Column("query", sa.String(), nullable=False),
    sa.Column("owner", sa.String(), server_default="", nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("deleted_at", sa.DateTime(timezone=True)),
    sa.PrimaryKeyConstraint("id", name="pk_views"),
    sa.Index("ix_views_page", "page", "name"),
)

sa.Table(
    "reports",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("title", sa.String(), nullable=False),
    sa.Column("owner", sa.String(), server_default="", nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("deleted_at", sa.DateTime(timezone=True)),
    sa.PrimaryKeyConstraint("id", name="pk_reports"),
    sa.Index("ix_reports_updated_at", "updated_at", "id"),
)

sa.Table(
    "report_blocks",
    METADATA,
    sa.Column("id", sa.Integer(), nullable=False),
    sa.Column("report_id", sa.Integer(), nullable=False),
    sa.Column("place", sa.Integer(), nullable=False),
    sa.Column("content", sa.JSON(), nullable=False),
    sa.PrimaryKeyConstraint("id", name="pk_report_blocks"),
    sa.ForeignKeyConstraint(["report_id"], ["reports.id"], name="fk_report_blocks_report_id"),
    sa.Index("ix_report_blocks_report_id", "report_id", "place"),
)
