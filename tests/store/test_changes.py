"""Changes: what a reader that follows gets, in which order, and that it misses nothing."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, select

from contract.api.labels import ExperimentChange, RunChange
from contract.folder.events import Points
from contract.lifecycle.state import State
from store import changes, runs
from store.changes import Changes
from store.lifecycle import creation, deletion, labels
from store.metrics import points
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from store.tables.service import Change
from tests.testing.specs import Experiment
from tests.testing.stored_runs import TO_RUNNING, move


def create(engine: Engine, experiment: Experiment, size: int = 1) -> tuple[int, list[int]]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": list(range(size))}))


def read(engine: Engine, since: int) -> Changes:
    with snapshot(engine) as db:
        return changes.read(db, since)


def position(engine: Engine) -> int:
    with snapshot(engine) as db:
        return changes.position(db)


def measured(*steps: int) -> Sequence[Points]:
    return [Points(attempt=1, at=0.0, step=step, values={"loss": 1.0}) for step in steps]


def test_a_reader_gets_each_change_once_with_what_changed(engine: Engine, experiment: Experiment) -> None:
    since = position(engine)
    experiment_id, (first, second) = create(engine, experiment, 2)
    found = read(engine, since)
    assert [(row.experiment_id, row.run_id) for row in found.rows] == [(experiment_id, 0)], "not one row for each run"
    with transaction(engine) as db:
        for state in TO_RUNNING:
            move(db, db.get_one(Run, first), state)
        points.put(db, second, measured(1))
    (one, two) = read(engine, found.next).rows
    assert (one.run_id, one.state, one.details_version >= found.next, one.points_version) == (first, "running", True, 0)
    assert (two.run_id, two.state, two.details_version, two.points_version >= found.next) == (second, "queued", 0, True)
    assert read(engine, read(engine, found.next).next).rows == []


def test_points_and_details_have_versions_of_their_own(engine: Engine, experiment: Experiment) -> None:
    _, (run_id,) = create(engine, experiment)
    since = position(engine)
    with transaction(engine) as db:
        points.put(db, run_id, measured(1))
    middle = position(engine)
    with transaction(engine) as db:
        runs.request_stop(db, Run.id == run_id)
    (row,) = read(engine, since).rows
    assert since <= row.points_version < middle <= row.details_version == row.version


def test_a_transaction_that_fails_leaves_no_change(engine: Engine, experiment: Experiment) -> None:
    _, (run_id,) = create(engine, experiment)
    since = position(engine)
    with suppress(ZeroDivisionError), transaction(engine) as db:
        points.put(db, run_id, measured(1))
        raise ZeroDivisionError
    assert read(engine, since).rows == []


def test_labels_and_deletions_are_changes_and_the_rows_go_with_the_runs(engine: Engine, experiment: Experiment) -> None:
    experiment_id, (run_id, _) = create(engine, experiment, 2)
    since = position(engine)
    with transaction(engine) as db:
        labels.change_run(db, run_id, RunChange(notes="good"))
        labels.change_experiment(db, experiment_id, ExperimentChange(name="other"))
    assert {row.run_id for row in read(engine, since).rows} == {0, run_id}
    since = position(engine)
    with transaction(engine) as db:
        move(db, db.get_one(Run, run_id), State.CANCELLED)
        deletion.mark_runs(db, Run.id == run_id)
    (row,) = read(engine, since).rows
    assert (row.run_id, row.state) == (run_id, None), "a deleted run has no state"
    with transaction(engine) as db:
        deletion.remove_rows(db, run_id, 100)
    with snapshot(engine) as db:
        assert db.scalar(select(func.count()).where(Change.run_id == run_id)) == 0


def test_versions_go_on_after_the_newest_row_is_removed(engine: Engine, experiment: Experiment) -> None:
    """Forces the fault: a counter that is the largest stored version would give that version again."""
    _, (first, second, _) = create(engine, experiment, 3)
    with transaction(engine) as db:
        move(db, db.get_one(Run, second), State.CANCELLED)
        deletion.mark_runs(db, Run.id == second)
    since = position(engine)
    with transaction(engine) as db:
        deletion.remove_rows(db, second, 100)
    with transaction(engine) as db:
        points.put(db, first, measured(1))
    assert [row.run_id for row in read(engine, since).rows] == [first]


def test_more_changes_than_a_reader_gets_at_once_are_noticed(
    engine: Engine, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_ROWS", 2)
    since = position(engine)
    _, run_ids = create(engine, experiment, 3)
    assert read(engine, since).is_complete
    with transaction(engine) as db:
        changes.record_runs(db, run_ids)
    found = read(engine, since)
    assert (len(found.rows), found.is_complete) == (2, False)
    assert read(engine, found.next).rows == []


def test_a_new_reader_gets_what_changed_a_moment_ago(engine: Engine, experiment: Experiment) -> None:
    _, (old, new) = create(engine, experiment, 2)
    with transaction(engine) as db:
        changes.record_runs(db, [old])
    with transaction(engine) as db:
        row = db.scalars(select(Change).where(Change.run_id == old)).one()
        row.at -= timedelta(minutes=1)
    with transaction(engine) as db:
        changes.record_runs(db, [new])
    with snapshot(engine) as db:
        found = changes.read_recent(db, now() - timedelta(seconds=50), changes.of([], [old, new]))
    assert [row.run_id for row in found.rows] == [new]


@pytest.mark.postgres
@pytest.mark.parametrize("database_kind", ["postgres"])
def test_a_transaction_that_commits_late_is_not_missed(engine: Engine, experiment: Experiment) -> None:
    """Forces the order: the transaction that began first commits last, after a reader has seen the other one."""
    _, (early, late) = create(engine, experiment, 2)
    since = position(engine)
    may_commit, has_begun = threading.Event(), threading.Event()

    def commit_late() -> None:
        with transaction(engine) as db:
            changes.record_runs(db, [early])
            changes.write(db)
            has_begun.set()
            assert may_commit.wait(60)

    thread = threading.Thread(target=commit_late)
    thread.start()
    try:
        assert has_begun.wait(60)
        with transaction(engine) as db:
            changes.record_runs(db, [late])
        found = read(engine, since)
        assert [row.run_id for row in found.rows] == [late]
    finally:
        may_commit.set()
        thread.join()
    assert {row.run_id for row in read(engine, found.next).rows} == {early, late}, "one of them again, none missed"
