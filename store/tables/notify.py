"""The tables of notifications: targets, rules, occurrences that no message has yet, and deliveries; divergences."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.notification import DeliveryStatus, NotifyEvent, TargetKind
from store.tables.base import Table, now
from store.tables.column_types import EnumText

IS_WAITING = text("ended_at IS NULL")  # of a delivery: SQLite compares no parameter with an index's condition


class NotifyTarget(Table):
    """Where messages go. `address` and `secret` leave the database only to send a message."""

    __tablename__ = "notify_targets"
    id: Mapped[int] = mapped_column(primary_key=True)
    # in the order of code points on both databases
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"), unique=True)
    kind: Mapped[TargetKind] = mapped_column(EnumText(TargetKind))
    address: Mapped[str]
    secret: Mapped[str | None]
    owner: Mapped[str] = mapped_column(default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    delivered_at: Mapped[datetime | None]
    error: Mapped[str | None]  # of the newest attempt


class NotifyRule(Table):
    """Which events a target gets: of an experiment, of an owner's experiments, or with neither of all experiments."""

    __tablename__ = "notify_rules"
    id: Mapped[int] = mapped_column(primary_key=True)
    target_id: Mapped[int] = mapped_column(ForeignKey("notify_targets.id"), index=True)
    experiment_id: Mapped[int | None] = mapped_column(ForeignKey("experiments.id"), index=True)
    owner: Mapped[str | None] = mapped_column(index=True)
    events: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Occurrence(Table):
    """Something happened about which a rule wants a message. The transaction in which it happened writes the row; the
    one that makes the messages removes it."""

    __tablename__ = "occurrences"
    __table_args__ = (Index("ix_occurrences_experiment_id", "experiment_id", "event"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment_id: Mapped[int]
    event: Mapped[NotifyEvent] = mapped_column(EnumText(NotifyEvent))
    run_id: Mapped[int | None]
    detail: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(default=now)


class NotifyDelivery(Table):
    """A message to one target: the outbox."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("ix_deliveries_due", "not_before", sqlite_where=IS_WAITING, postgresql_where=IS_WAITING),
        Index("ix_deliveries_experiment_id", "experiment_id", "event", "created_at"),
        Index("ix_deliveries_target_id", "target_id", "status"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)  # the same in all attempts
    target_id: Mapped[int]  # of a target that may be deleted since
    target_name: Mapped[str]
    experiment_id: Mapped[int | None]
    event: Mapped[str]
    title: Mapped[str]
    body: Mapped[dict[str, Any]]
    status: Mapped[DeliveryStatus] = mapped_column(EnumText(DeliveryStatus), default=DeliveryStatus.WAITING)
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)
    not_before: Mapped[datetime] = mapped_column(default=now)  # the next attempt is not made before
    ended_at: Mapped[datetime | None]
    error: Mapped[str | None]


class Divergence(Table):
    """A run that has left the band."""

    __tablename__ = "divergences"
    __table_args__ = {"sqlite_with_rowid": False}
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    name: Mapped[str]  # of the series
    step: Mapped[int]
    at: Mapped[datetime]
