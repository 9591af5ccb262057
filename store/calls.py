"""Calls of a cluster's commands: so many a minute and no more, whoever calls, and how each went."""

import time
from collections.abc import Sequence

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from store.points import insert_into
from store.tables import CallCount, CallSlot

WINDOW_S = 60.0


def take(db: Session, cluster: str, slots: Sequence[int]) -> bool:
    """Use one of `slots`, if one has not been used for a minute; then of any 60 s no more than all slots are spent.

    The clock is the database's where it has one: workers' clocks may differ.
    """
    at = _clock(db)
    # a slot in the future was used before a clock was set back
    free = (CallSlot.cluster == cluster, ~CallSlot.at.between(at - WINDOW_S, at + 1.0))
    best = (
        select(CallSlot.slot).where(*free, CallSlot.slot.in_(slots)).order_by(CallSlot.slot.desc()).limit(1)
    ).scalar_subquery()
    # `free` again: of two that chose one slot, the second finds it used when the first has committed
    use = update(CallSlot).where(CallSlot.slot == best, *free).values(at=at).returning(CallSlot.slot)
    return db.scalar(use.execution_options(synchronize_session=False)) is not None


def make_slots(db: Session, cluster: str, count: int) -> None:
    """See to it that a cluster has its slots."""
    rows = [{"cluster": cluster, "slot": slot, "at": 0.0} for slot in range(count)]
    db.execute(insert_into(db, CallSlot).on_conflict_do_nothing(), rows)


def free(db: Session, cluster: str, slots: Sequence[int]) -> int:
    """How many of `slots` could be used now."""
    at = _clock(db)
    mine = (CallSlot.cluster == cluster, CallSlot.slot.in_(slots))
    query = select(func.count()).where(*mine, ~CallSlot.at.between(at - WINDOW_S, at + 1.0))
    return db.scalar(query) or 0


def used(db: Session) -> dict[str, tuple[int, int]]:
    """For each cluster, how many slots were used within the last minute, and how many there are."""
    at = _clock(db)
    recent = func.sum(case((CallSlot.at.between(at - WINDOW_S, at + 1.0), 1), else_=0))
    rows = db.execute(select(CallSlot.cluster, recent, func.count()).group_by(CallSlot.cluster))
    return {cluster: (int(used), slots) for cluster, used, slots in rows}


def count(db: Session, cluster: str, command: str, outcome: str, seconds: float) -> None:
    """Add one call to the counts."""
    add = insert_into(db, CallCount).values(cluster=cluster, command=command, outcome=outcome, count=1, seconds=seconds)
    sums = {"count": CallCount.count + 1, "seconds": CallCount.seconds + add.excluded.seconds}
    db.execute(add.on_conflict_do_update(index_elements=["cluster", "command", "outcome"], set_=sums))


def counts(db: Session) -> Sequence[CallCount]:
    return db.scalars(select(CallCount).order_by(CallCount.cluster, CallCount.command, CallCount.outcome)).all()


def _clock(db: Session) -> float:
    if db.get_bind().dialect.name == "sqlite":
        return time.time()
    return float(db.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)
