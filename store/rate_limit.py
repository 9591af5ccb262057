"""Rate limit of a cluster's commands: so many calls a minute over all workers, and counts of their outcomes."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from store.insert import insert_into
from store.tables.clusters import CallCount, CallKind, CallSlot, NoAnswer

WINDOW_S = 60.0
# Another worker may have used a slot after this worker read the clock. A slot further ahead was used before a clock
# was set back.
AHEAD_S = 10.0


class KindUse(NamedTuple):
    """The slots of a minute that only one kind of call may use, and what the kind has used."""

    cluster: str
    kind: str
    reserve: int
    used: int  # slots, within the last minute
    age_s: float | None  # since the kind's last call; None before the first


def take_slot(
    db: Session, cluster: str, slots: Sequence[int], apart_s: float = 0.0, rest_s: float = WINDOW_S, *, kind: str = ""
) -> bool:
    """Use the first of `slots` that was not used for `rest_s`, for a call of `kind`; return False if there is none.

    So no 60 s have more calls than there are slots. With `apart_s`, no slot is used so soon after another of `slots`.
    The clock is the database's where it has one: workers' clocks may differ.
    """
    at = _clock(db)
    free = (
        CallSlot.cluster == cluster,
        ~CallSlot.at.between(at - max(rest_s, WINDOW_S), at + AHEAD_S),
        *_rested(cluster, slots, at, apart_s),
    )
    order = case({slot: place for place, slot in enumerate(slots)}, value=CallSlot.slot)
    best = select(CallSlot.slot).where(*free, CallSlot.slot.in_(slots)).order_by(order).limit(1).scalar_subquery()
    # `free` again: of two workers that chose one slot, the second finds it used once the first has committed
    use = update(CallSlot).where(CallSlot.slot == best, *free).values(at=at, kind=kind).returning(CallSlot.slot)
    if db.scalar(use.execution_options(synchronize_session=False)) is None:
        return False
    mine = (CallKind.cluster == cluster, CallKind.kind == kind)
    db.execute(update(CallKind).where(*mine).values(at=at).execution_options(synchronize_session=False))
    return True


def make_slots(db: Session, cluster: str, count: int, reserves: Mapping[str, int] | None = None) -> None:
    """Insert the slots of a cluster unless they exist, and its kinds of calls with their reserves."""
    rows = [{"cluster": cluster, "slot": slot, "at": 0.0} for slot in range(count)]
    db.execute(insert_into(db, CallSlot).on_conflict_do_nothing(), rows)
    # in order of the kinds, so that two workers that begin together do not wait for each other
    kinds = [
        {"cluster": cluster, "kind": kind, "reserve": reserve, "at": 0.0}
        for kind, reserve in sorted((reserves or {}).items())
    ]
    if kinds:
        add = insert_into(db, CallKind)
        change = {"reserve": add.excluded.reserve}
        db.execute(add.on_conflict_do_update(index_elements=["cluster", "kind"], set_=change), kinds)


def count_free_slots(
    db: Session, cluster: str, slots: Sequence[int], apart_s: float = 0.0, rest_s: float = WINDOW_S
) -> int:
    """Return how many of `slots` could be used now."""
    at = _clock(db)
    mine = (CallSlot.cluster == cluster, CallSlot.slot.in_(slots), *_rested(cluster, slots, at, apart_s))
    query = select(func.count()).where(*mine, ~CallSlot.at.between(at - max(rest_s, WINDOW_S), at + AHEAD_S))
    return db.scalar(query) or 0


def write_no_answer(db: Session, cluster: str, *, no_answer: bool) -> None:
    """Store that a cluster's controller gave no answer now, or that it answers again."""
    if not no_answer and not db.scalar(select(NoAnswer.at).where(NoAnswer.cluster == cluster)):
        return  # the usual case: nothing to write
    add = insert_into(db, NoAnswer).values(cluster=cluster, at=_clock(db) if no_answer else 0.0)
    db.execute(add.on_conflict_do_update(index_elements=["cluster"], set_={"at": add.excluded.at}))


def gave_no_answer(db: Session, cluster: str, seconds: float) -> bool:
    """Return whether the cluster gave no answer to its last call, and that call was within `seconds`."""
    at = _clock(db)
    no_answer_at = db.scalar(select(NoAnswer.at).where(NoAnswer.cluster == cluster)) or 0.0
    return at - seconds < no_answer_at <= at + AHEAD_S


def used_slots(db: Session) -> dict[str, tuple[int, int]]:
    """Return for each cluster how many slots were used within the last minute, and how many there are."""
    at = _clock(db)
    recent = func.sum(case((CallSlot.at.between(at - WINDOW_S, at + AHEAD_S), 1), else_=0))
    rows = db.execute(select(CallSlot.cluster, recent, func.count()).group_by(CallSlot.cluster))
    return {cluster: (int(used), slots) for cluster, used, slots in rows}


def kind_uses(db: Session) -> list[KindUse]:
    """Return the reserve and the use of every kind of call, by cluster and kind."""
    at = _clock(db)
    query = (
        select(CallSlot.cluster, CallSlot.kind, func.count())
        .where(CallSlot.at.between(at - WINDOW_S, at + AHEAD_S))
        .group_by(CallSlot.cluster, CallSlot.kind)
    )
    used = {(cluster, kind): count for cluster, kind, count in db.execute(query)}
    return [
        KindUse(row.cluster, row.kind, row.reserve, used.get((row.cluster, row.kind), 0), _age_s(row.at, at))
        for row in db.scalars(select(CallKind).order_by(CallKind.cluster, CallKind.kind))
    ]


def count_call(db: Session, cluster: str, command: str, outcome: str, seconds: float) -> None:
    """Add one call to the counts."""
    add = insert_into(db, CallCount).values(cluster=cluster, command=command, outcome=outcome, count=1, seconds=seconds)
    sums = {"count": CallCount.count + 1, "seconds": CallCount.seconds + add.excluded.seconds}
    db.execute(add.on_conflict_do_update(index_elements=["cluster", "command", "outcome"], set_=sums))


def call_counts(db: Session) -> Sequence[CallCount]:
    """Return all counts."""
    return db.scalars(select(CallCount).order_by(CallCount.cluster, CallCount.command, CallCount.outcome)).all()


def _rested(cluster: str, slots: Sequence[int], at: float, apart_s: float) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that none of `slots` was used within the last `apart_s`."""
    if not apart_s:
        return ()
    other = aliased(CallSlot)
    used = (other.cluster == cluster, other.slot.in_(slots), other.at.between(at - apart_s, at + AHEAD_S))
    return (~exists().where(*used),)


def _age_s(moment: float, at: float) -> float | None:
    return max(0.0, at - moment) if moment else None


def _clock(db: Session) -> float:
    if db.get_bind().dialect.name == "sqlite":
        return time.time()
    return float(db.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)
