"""Calls of a cluster's commands: so many a minute and no more, whoever calls, and how each went."""

import time
from collections.abc import Sequence

from sqlalchemy import ColumnElement, case, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from store.metrics.points import insert_into
from store.tables import CallCount, CallSlot, Silence

WINDOW_S = 60.0
# A slot may be used by somebody whose clock was read after ours: where we stood still between our look at the clock and
# at the slots. One that lies further ahead was used before a clock was set back.
AHEAD_S = 10.0


def take(db: Session, cluster: str, slots: Sequence[int], apart_s: float = 0.0) -> bool:
    """Use the first of `slots` that has not been used for a minute; then of any 60 s no more than all slots are spent.

    With `apart_s`, none is used so soon after another of them. The clock is the database's where it has one: workers'
    clocks may differ.
    """
    at = _clock(db)
    free = (
        CallSlot.cluster == cluster,
        ~CallSlot.at.between(at - WINDOW_S, at + AHEAD_S),
        *_rested(cluster, slots, at, apart_s),
    )
    turn = case({slot: place for place, slot in enumerate(slots)}, value=CallSlot.slot)
    best = select(CallSlot.slot).where(*free, CallSlot.slot.in_(slots)).order_by(turn).limit(1).scalar_subquery()
    # `free` again: of two that chose one slot, the second finds it used when the first has committed
    use = update(CallSlot).where(CallSlot.slot == best, *free).values(at=at).returning(CallSlot.slot)
    return db.scalar(use.execution_options(synchronize_session=False)) is not None


def make_slots(db: Session, cluster: str, count: int) -> None:
    """See to it that a cluster has its slots."""
    rows = [{"cluster": cluster, "slot": slot, "at": 0.0} for slot in range(count)]
    db.execute(insert_into(db, CallSlot).on_conflict_do_nothing(), rows)


def free(db: Session, cluster: str, slots: Sequence[int], apart_s: float = 0.0) -> int:
    """How many of `slots` could be used now."""
    at = _clock(db)
    mine = (CallSlot.cluster == cluster, CallSlot.slot.in_(slots), *_rested(cluster, slots, at, apart_s))
    query = select(func.count()).where(*mine, ~CallSlot.at.between(at - WINDOW_S, at + AHEAD_S))
    return db.scalar(query) or 0


def note_silence(db: Session, cluster: str, *, silence: bool) -> None:
    """Store that a cluster has kept silent now, or that it does so no longer."""
    if not silence and not db.scalar(select(Silence.at).where(Silence.cluster == cluster)):
        return  # as nearly always: nothing to write
    add = insert_into(db, Silence).values(cluster=cluster, at=_clock(db) if silence else 0.0)
    db.execute(add.on_conflict_do_update(index_elements=["cluster"], set_={"at": add.excluded.at}))


def is_silent(db: Session, cluster: str, seconds: float) -> bool:
    """Whether it kept silent when it was last called, and that was within so long."""
    at = _clock(db)
    silent_at = db.scalar(select(Silence.at).where(Silence.cluster == cluster)) or 0.0
    return at - seconds < silent_at <= at + AHEAD_S


def used(db: Session) -> dict[str, tuple[int, int]]:
    """For each cluster, how many slots were used within the last minute, and how many there are."""
    at = _clock(db)
    recent = func.sum(case((CallSlot.at.between(at - WINDOW_S, at + AHEAD_S), 1), else_=0))
    rows = db.execute(select(CallSlot.cluster, recent, func.count()).group_by(CallSlot.cluster))
    return {cluster: (int(used), slots) for cluster, used, slots in rows}


def count(db: Session, cluster: str, command: str, outcome: str, seconds: float) -> None:
    """Add one call to the counts."""
    add = insert_into(db, CallCount).values(cluster=cluster, command=command, outcome=outcome, count=1, seconds=seconds)
    sums = {"count": CallCount.count + 1, "seconds": CallCount.seconds + add.excluded.seconds}
    db.execute(add.on_conflict_do_update(index_elements=["cluster", "command", "outcome"], set_=sums))


def counts(db: Session) -> Sequence[CallCount]:
    return db.scalars(select(CallCount).order_by(CallCount.cluster, CallCount.command, CallCount.outcome)).all()


def _rested(cluster: str, slots: Sequence[int], at: float, apart_s: float) -> tuple[ColumnElement[bool], ...]:
    """That none of `slots` was used within the last `apart_s`."""
    if not apart_s:
        return ()
    other = aliased(CallSlot)
    used = (other.cluster == cluster, other.slot.in_(slots), other.at.between(at - apart_s, at + AHEAD_S))
    return (~exists().where(*used),)


def _clock(db: Session) -> float:
    if db.get_bind().dialect.name == "sqlite":
        return time.time()
    return float(db.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)
