"""Application of reports: one lock over all runs in id order, beside other writers."""

import threading
import time
from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, select

from contract.folder.events import Points
from contract.lifecycle.state import State
from scheduler.events.apply import apply_reports
from scheduler.events.rank_points import RankPoints
from scheduler.events.report import RunReport
from scheduler.events.tail import Tail
from store import runs
from store.lifecycle import creation
from store.runs import LiveRun
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.points import Figure
from store.tables.runs import Run
from tests.testing.events import STARTED
from tests.testing.runs import start_job
from tests.testing.specs import Experiment

POINTS = Points(attempt=1, at=0.0, step=1, values={"loss": 1.0})


@pytest.fixture
def live(engine: Engine, experiment: Experiment) -> list[LiveRun]:
    """Two runs: the first is pending, the second is running."""
    with transaction(engine) as db:
        first, second = creation.create(db, experiment({"seed": [0, 1]}))[1]
        start_job(db, first, State.PENDING)
        start_job(db, second, State.RUNNING)
    with snapshot(engine) as db:
        return runs.live(db, ended_after=now())


def test_reports_of_two_kinds_do_not_deadlock_with_a_stop_of_all_runs(
    engine: Engine, live: list[LiveRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: a stop of both runs begins after the lock of the second run and before that of the first.

    The second run reports points alone and the first one another event, so each is locked by a statement of its own.
    """
    has_locked, errors, lock_as_read = threading.Event(), list[BaseException](), runs.lock_as_read

    def lock_late(db: runs.Session, read: Sequence[LiveRun]) -> dict[int, Run]:
        has_locked.set()
        time.sleep(0.5)  # the stop takes its first lock in this time
        return lock_as_read(db, read)

    def stop_all() -> None:
        has_locked.wait()
        try:
            with transaction(engine) as db:
                runs.request_stop(db, Run.id.in_([run.id for run in live]))
        except BaseException as error:
            errors.append(error)

    monkeypatch.setattr(runs, "lock_as_read", lock_late)
    stopping = threading.Thread(target=stop_all)
    stopping.start()
    first, second = live
    reports = [RunReport(first, Tail([STARTED], 10, False)), RunReport(second, Tail([POINTS], 10, False))]
    with transaction(engine) as db, db.no_autoflush:
        assert apply_reports(db, reports) == {first.id: State.RUNNING, second.id: State.RUNNING}
    stopping.join()
    assert errors == []


@pytest.mark.parametrize(
    "parts", [[[(5, 5.0), (3, 99.0)]], [[(5, 5.0)], [(3, 99.0)]], [[(5, 1.0)], [(3, 99.0), (5, 5.0)]]]
)
@pytest.mark.parametrize("number", [0, 1], ids=["with another event", "points alone"])
def test_the_newest_value_is_that_of_the_highest_step(
    engine: Engine, live: list[LiveRun], parts: list[list[tuple[int, float]]], number: int
) -> None:
    """The run reports step 5, then step 3: pages, tables and clients say what the end of the curve says."""
    for part in parts:
        with snapshot(engine) as db:
            run = runs.live(db, ended_after=now())[number]
        events = [Points(attempt=1, at=0.0, step=step, values={"loss": value}) for step, value in part]
        report = RunReport(run, Tail([*events, *([] if number else [STARTED])], run.cursor + 10, False))
        with transaction(engine) as db, db.no_autoflush:
            apply_reports(db, [report])
    with snapshot(engine) as db:
        stored = db.get_one(Run, live[number].id)
        assert (stored.step, stored.latest) == (5, {"loss": 5.0})
        assert db.scalars(select(Figure.last)).all() == [5.0]


def test_a_series_of_another_rank_is_no_newest_value_of_the_run(engine: Engine, live: list[LiveRun]) -> None:
    of_rank = Points(attempt=1, at=0.0, step=9, values={"loss/rank-1": 7.0})
    report = RunReport(live[1], Tail([POINTS], 10, False), ranks=RankPoints([of_rank], {"1": 10}))
    with transaction(engine) as db, db.no_autoflush:
        apply_reports(db, [report])
    with snapshot(engine) as db:
        assert db.get_one(Run, live[1].id).latest == {"loss": 1.0}
