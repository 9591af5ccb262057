"""The first tables of the service itself, its periodic tasks and its clusters."""

import sqlalchemy as sa

from migrations.first_tables.metadata import METADATA

sa.Table(
    "service",
    METADATA,
    sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("identity", sa.String(), nullable=False),
    sa.Column("marks", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("experiments", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("runs", sa.BigInteger(), server_default="0", nullable=False),
    sa.PrimaryKeyConstraint("id", name="pk_service"),
)

sa.Table(
    "changes",
    METADATA,
    sa.Column("experiment_id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("version", sa.BigInteger(), nullable=False),
    sa.Column("points_version", sa.BigInteger(), nullable=False),
    sa.Column("details_version", sa.BigInteger(), nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("experiment_id", "run_id", name="pk_changes"),
    sa.Index("ix_changes_version", "version"),
    sqlite_with_rowid=False,
)

sa.Table(
    "ended_values",
    METADATA,
    sa.Column("nonce", sa.String(), nullable=False),
    sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint("nonce", name="pk_ended_values"),
    sa.Index("ix_ended_values_expires_at", "expires_at"),
    sqlite_with_rowid=False,
)

sa.Table(
    "ticks",
    METADATA,
    sa.Column("name", sa.String(), nullable=False),
    sa.Column("period_s", sa.Double(), nullable=False),
    sa.Column("succeeded_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("runs", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("failures", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("reports", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("seconds", sa.Double(), server_default="0", nullable=False),
    sa.Column("lag_s", sa.Double(), server_default="0", nullable=False),
    sa.PrimaryKeyConstraint("name", name="pk_ticks"),
)

sa.Table(
    "clusters",
    METADATA,
    sa.Column("kind", sa.String(), nullable=False),
    sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("error", sa.String()),
    sa.Column("report", sa.JSON()),
    sa.Column("poll_after", sa.DateTime(timezone=True)),
    sa.PrimaryKeyConstraint("kind", name="pk_clusters"),
)

sa.Table(
    "submit_limits",
    METADATA,
    sa.Column("cluster", sa.String(), nullable=False),
    sa.Column("queue", sa.String(), nullable=False),
    sa.Column("accepted", sa.Integer(), nullable=False),
    sa.Column("refused", sa.Integer()),
    sa.Column("refusals", sa.Integer(), nullable=False),
    sa.Column("held_until", sa.DateTime(timezone=True)),
    sa.Column("probe_at", sa.DateTime(timezone=True)),
    sa.Column("accepted_at", sa.DateTime(timezone=True)),
    sa.Column("message", sa.String(), nullable=False),
    sa.Column("leaves_s", sa.Double()),
    sa.PrimaryKeyConstraint("cluster", "queue", name="pk_submit_limits"),
)

sa.Table(
    "call_slots",
    METADATA,
    sa.Column("cluster", sa.String(), nullable=False),
    sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("at", sa.Double(), nullable=False),
    sa.Column("kind", sa.String(), server_default="", nullable=False),
    sa.PrimaryKeyConstraint("cluster", "slot", name="pk_call_slots"),
)

sa.Table(
    "call_kinds",
    METADATA,
    sa.Column("cluster", sa.String(), nullable=False),
    sa.Column("kind", sa.String(), nullable=False),
    sa.Column("reserve", sa.Integer(), nullable=False),
    sa.Column("at", sa.Double(), nullable=False),
    sa.PrimaryKeyConstraint("cluster", "kind", name="pk_call_kinds"),
)

sa.Table(
    "silences",
    METADATA,
    sa.Column("cluster", sa.String(), nullable=False),
    sa.Column("at", sa.Double(), nullable=False),
    sa.PrimaryKeyConstraint("cluster", name="pk_silences"),
)

sa.Table(
    "call_counts",
    METADATA,
    sa.Column("cluster", sa.String(), nullable=False),
    sa.Column("command", sa.String(), nullable=False),
    sa.Column("outcome", sa.String(), nullable=False),
    sa.Column("count", sa.BigInteger(), nullable=False),
    sa.Column("seconds", sa.Double(), nullable=False),
    sa.PrimaryKeyConstraint("cluster", "command", "outcome", name="pk_call_counts"),
)
