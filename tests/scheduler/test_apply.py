"""Application of reports: one lock over all runs in id order, beside other writers."""

import threading
import time
from collections.abc import Sequence

import pytest
from sqlalchemy import Engine

from contract.folder.events import Points
from contract.lifecycle.state import State
from scheduler.events.apply import RunReport, apply_reports
from scheduler.events.tail import Tail
from store import runs
from store.runs import LiveRun
from store.session import snapshot, transaction
from store.tables import Run, now
from tests.testing.events import STARTED
from tests.testing.runs import start_job
from tests.testing.specs import Experiment

POINTS = Points(attempt=1, at=0.0, step=1, values={"loss": 1.0})


@pytest.fixture
def live(engine: Engine, experiment: Experiment) -> list[LiveRun]:
    """Two runs: the first is pending, the second is running."""
    with transaction(engine) as db:
        first, second = runs.create(db, experiment({"seed": [0, 1]}))[1]
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
