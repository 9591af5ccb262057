"""A worker that is killed while it makes messages: each thing that happened is in one message, whatever line it is."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from contract.lifecycle.state import State
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.notify.bundle import make_messages
from store.session import engine_for, snapshot
from store.tables.notify import Occurrence
from tests.scheduler.notify.conftest import add_webhook, deliveries_of
from tests.scheduler.notify.test_messages import end_run, make_experiment
from tests.testing.faults import kill_points
from tests.testing.faults.kill_points import die_at, last_of_lines, watched
from tests.testing.receiver import Receiver

KILLED_IN = ("bundle.py", "occurrences.py", "deliveries.py", "progress.py", "session.py")


@pytest.mark.ring("all")
def test_a_worker_killed_at_any_line_leaves_each_occurrence_in_one_message(
    sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: SIGKILL at each line at which two failures and an end become messages."""
    monkeypatch.setattr(kill_points, "STARTS", ("bundle.py",))
    context = Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)
    add_webhook(context, Receiver())
    run_ids = make_experiment(context, 2, on=["failure", "end"])
    for run_id in run_ids:
        end_run(context, run_id, State.FAILED)
    sqlite_engine.dispose()
    before = Path(str(sqlite_engine.url.database))
    points = _points(before)
    assert len(points) > 40
    for number, point in enumerate(points):
        after = Path(shutil.copy(before, tmp_path / f"{number}.db"))
        killed = replace(context, engine=engine_for(f"sqlite:///{after}"))
        die_at(point, partial(make_messages, killed.engine, ""))
        make_messages(killed.engine, "")
        found = deliveries_of(killed)
        named = [run["id"] for one in found for run in one.body["data"]["runs"]]
        assert (named, sorted(one.event for one in found)) == (run_ids, ["end", "failure"]), point
        with snapshot(killed.engine) as db:
            assert not db.scalar(select(func.count()).select_from(Occurrence)), point
        killed.engine.dispose()
        after.unlink()


def _points(before: Path) -> list[str]:
    seen: list[str] = []
    engine = engine_for(f"sqlite:///{shutil.copy(before, before.with_name('seen.db'))}")
    with watched(seen.append):
        make_messages(engine, "")
    engine.dispose()
    return last_of_lines(seen, KILLED_IN)
