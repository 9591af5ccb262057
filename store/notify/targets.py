"""Targets of notifications: stored, listed and removed. Only `secrets_of` returns addresses and secrets."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from contract.api.notify.targets import NewTarget, TargetChange
from contract.lifecycle.notification import DeliveryStatus, TargetKind
from store.tables.base import now
from store.tables.notify import NotifyDelivery, NotifyRule, NotifyTarget

MAX_TARGETS = 500
TARGET_DELETED = "the target was deleted"


class TargetSecrets(NamedTuple):
    """What a message is sent with."""

    kind: TargetKind
    address: str
    secret: str | None


def add_target(db: Session, new: NewTarget, owner: str) -> NotifyTarget:
    """Store a target, whose name no other one has."""
    secret = None if new.secret is None else new.secret.get_secret_value()
    target = NotifyTarget(
        name=new.name, kind=new.kind, address=new.address.get_secret_value(), secret=secret, owner=owner
    )
    db.add(target)
    db.flush()
    return target


def change_target(db: Session, target: NotifyTarget, change: TargetChange) -> None:
    """Change a target; what waits for it is sent with what the target has then, from now on."""
    if change.name is not None:
        target.name = change.name
        renamed = update(NotifyDelivery).where(NotifyDelivery.target_id == target.id).values(target_name=change.name)
        db.execute(renamed.execution_options(synchronize_session=False))
    if change.address is not None:
        target.address = change.address.get_secret_value()
    if change.secret is not None:
        target.secret = change.secret.get_secret_value()


def all_targets(db: Session) -> Sequence[NotifyTarget]:
    """Return the targets in the order of their names."""
    return db.scalars(select(NotifyTarget).order_by(NotifyTarget.name)).all()


def count_targets(db: Session) -> int:
    """Return the number of targets."""
    return db.scalar(select(func.count()).select_from(NotifyTarget)) or 0


def target_ids(db: Session, names: Collection[str]) -> dict[str, int]:
    """Return the ids of targets by their names; unknown names are absent."""
    query = select(NotifyTarget.name, NotifyTarget.id).where(NotifyTarget.name.in_(names))
    return {row[0]: row[1] for row in db.execute(query)}


def waiting_counts(db: Session) -> Mapping[int, int]:
    """Return the number of messages that wait for each target that has any."""
    mine = NotifyDelivery.ended_at.is_(None)
    query = select(NotifyDelivery.target_id, func.count()).where(mine).group_by(NotifyDelivery.target_id)
    return {row[0]: row[1] for row in db.execute(query)}


def secrets_of(db: Session, target_id: int) -> TargetSecrets | None:
    """Return what a message to a target is sent with; None if the target was deleted."""
    target = db.get(NotifyTarget, target_id)
    return None if target is None else TargetSecrets(target.kind, target.address, target.secret)


def store_outcome(db: Session, target_id: int, at: datetime, error: str | None) -> None:
    """Store how the newest attempt of a target ended; None: a message was delivered."""
    values = {"error": error} if error is not None else {"error": None, "delivered_at": at}
    db.execute(update(NotifyTarget).where(NotifyTarget.id == target_id).values(values))


def delete_target(db: Session, target: NotifyTarget) -> None:
    """Delete a target with its rules; what waits for it is given up."""
    mine = (NotifyDelivery.target_id == target.id, NotifyDelivery.ended_at.is_(None))
    end = {"status": DeliveryStatus.GIVEN_UP, "ended_at": now(), "error": TARGET_DELETED}
    db.execute(update(NotifyDelivery).where(*mine).values(end).execution_options(synchronize_session=False))
    db.execute(delete(NotifyRule).where(NotifyRule.target_id == target.id))
    db.execute(delete(NotifyTarget).where(NotifyTarget.id == target.id))
