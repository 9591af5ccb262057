"""Ticks: when each periodic task last succeeded, on any worker."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.tables.base import now
from store.tables.service import Tick

LATE_PERIODS = 10
LATE_AT_LEAST = timedelta(seconds=60)  # a slow cluster may delay a tick by several time-outs of its commands


class LateTick(NamedTuple):
    """A tick that should have succeeded since."""

    name: str
    age: timedelta  # since its last success


@dataclass
class TickCounts:
    """What a worker has counted of a tick since it last stored the counts."""

    runs: int = 0
    failures: int = 0
    seconds: float = 0.0
    reports: int = 0
    lag_s: float = 0.0


def store_success(db: Session, name: str, period_s: float, counts: TickCounts | None = None) -> None:
    """Store that a tick succeeded now, and add what was counted of it."""
    new = asdict(counts or TickCounts())
    add = insert_into(db, Tick).values(name=name, period_s=period_s, succeeded_at=now(), **new)
    change = {"period_s": add.excluded.period_s, "succeeded_at": add.excluded.succeeded_at}
    sums = {column: getattr(Tick, column) + getattr(add.excluded, column) for column in new}
    db.execute(add.on_conflict_do_update(index_elements=["name"], set_=change | sums))


def all_ticks(db: Session) -> Sequence[Tick]:
    """Return all ticks, by name."""
    return db.scalars(select(Tick).order_by(Tick.name)).all()


def begin(db: Session, periods_s: Mapping[str, float]) -> None:
    """Expect these ticks from now on, and no others; a tick that is expected already stays as late as it is."""
    db.execute(delete(Tick).where(Tick.name.not_in(periods_s)))
    rows = [{"name": name, "period_s": period_s, "succeeded_at": now()} for name, period_s in periods_s.items()]
    db.execute(insert_into(db, Tick).on_conflict_do_nothing(), rows)


def end(db: Session) -> None:
    """Expect no tick until a worker begins or a tick succeeds: a worker that ends in good order is not late."""
    db.execute(delete(Tick))


def late(db: Session) -> list[LateTick]:
    """Return the ticks without a success for ten periods, and at least for LATE_AT_LEAST, by name."""
    present = now()
    ages = [
        (row, LateTick(row.name, present - row.succeeded_at)) for row in db.scalars(select(Tick).order_by(Tick.name))
    ]
    return [one for row, one in ages if one.age > max(LATE_AT_LEAST, LATE_PERIODS * timedelta(seconds=row.period_s))]
