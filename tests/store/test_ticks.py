"""Ticks: late are those that have not succeeded for ten periods."""

from datetime import timedelta

from sqlalchemy import Engine, update

from store import ticks
from store.session import snapshot, transaction
from store.tables.service import Tick

PERIODS_S = {"ingest": 1.0, "slow": 60.0}


def age(engine: Engine, name: str, **by: float) -> None:
    """Move the last success of a tick into the past."""
    with transaction(engine) as db:
        moment = db.get_one(Tick, name).succeeded_at - timedelta(**by)
        db.execute(update(Tick).where(Tick.name == name).values(succeeded_at=moment))


def late(engine: Engine) -> list[str]:
    with snapshot(engine) as db:
        return [tick.name for tick in ticks.late(db)]


def test_a_tick_is_late_after_ten_periods_and_a_minute(engine: Engine) -> None:
    with transaction(engine) as db:
        ticks.begin(db, PERIODS_S)
    assert late(engine) == []
    age(engine, "ingest", seconds=55)
    age(engine, "slow", seconds=595)
    assert late(engine) == []
    age(engine, "ingest", seconds=10)
    assert late(engine) == ["ingest"]
    age(engine, "slow", seconds=10)
    assert late(engine) == ["ingest", "slow"]
    with transaction(engine) as db:
        ticks.store_success(db, "ingest", 1.0)
    assert late(engine) == ["slow"]


def test_a_worker_that_is_started_again_does_not_make_a_late_tick_punctual(engine: Engine) -> None:
    """Forces the fault: the watchdog ends a worker again and again, because a tick hangs each time."""
    with transaction(engine) as db:
        ticks.begin(db, PERIODS_S)
    age(engine, "ingest", hours=1)
    with transaction(engine) as db:
        ticks.begin(db, PERIODS_S)
    assert late(engine) == ["ingest"]


def test_a_tick_that_no_longer_exists_and_one_that_ended_in_order_are_not_late(engine: Engine) -> None:
    with transaction(engine) as db:
        ticks.begin(db, PERIODS_S | {"of_an_earlier_version": 1.0})
    age(engine, "of_an_earlier_version", hours=1)
    with transaction(engine) as db:
        ticks.begin(db, PERIODS_S)
    assert late(engine) == []
    age(engine, "ingest", hours=1)
    with transaction(engine) as db:
        ticks.end(db)
    assert late(engine) == []
