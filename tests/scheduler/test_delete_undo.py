"""Deletions with an undo: nothing goes before its time, a restore brings all back, and a claim comes before files."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from contract.folder.events import Finished
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks import delete as tick
from scheduler.ticks.delete import delete
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from store.artifacts import reuse
from store.lifecycle import deletion, undo
from store.lifecycle.undo import NotRestorableError
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Run
from tests.testing.clusters import Far, Puppet
from tests.testing.ended_arrays import ended_array
from tests.testing.events import STARTED, report
from tests.testing.runs import read
from tests.testing.specs import Experiment

DAY = timedelta(hours=24)


@pytest.fixture
def ended(context: Context, run_ids: list[int], puppet: Puppet) -> list[int]:
    """Three runs of experiment 1 that have finished, and whose jobs have left."""
    submit_queued(context)
    for run_id in run_ids:
        report(context, run_id, STARTED, Finished(attempt=1, at=2.0, step=4))
        puppet.answers[f"job{run_id}"] = gone(EndKind.EXITED, exit_code=0)
    ingest(context)
    reap(context)
    return run_ids


def mark(context: Context, run_id: int | None = None) -> None:
    with transaction(context.engine) as db:
        if run_id is None:
            deletion.mark_experiment(db, 1, DAY)
        else:
            deletion.mark_runs(db, Run.id == run_id, DAY)


def let_time_pass(context: Context) -> None:
    """Put the end of the time for an undo into the past, for all that is deleted."""
    past = now() - timedelta(seconds=1)
    with transaction(context.engine) as db:
        for table in (Stored, Run):
            db.execute(update(table).where(table.restorable_until.is_not(None)).values(restorable_until=past))


def restore(context: Context, run_id: int | None = None) -> int:
    with transaction(context.engine) as db:
        return undo.restore_experiment(db, 1) if run_id is None else undo.restore_run(db, run_id)


def shown(context: Context) -> list[int]:
    with snapshot(context.engine) as db:
        return sorted(db.scalars(select(Run.id).where(Run.deleted_at.is_(None))))


def test_a_restored_experiment_is_as_it_was(context: Context, ended: list[int]) -> None:
    before = [read(context, run_id) for run_id in ended]
    mark(context)
    delete(context)
    assert shown(context) == []
    assert restore(context) == 3
    after = [read(context, run_id) for run_id in ended]
    for one, other in zip(before, after, strict=True):
        columns = [column.key for column in Run.__table__.columns if column.key in Run.__mapper__.attrs]
        assert {name: getattr(one, name) for name in columns} == {name: getattr(other, name) for name in columns}
        assert context.folder_of(other).path.is_dir()
    with snapshot(context.engine) as db:
        stored = db.get_one(Stored, 1)
        assert (stored.deleted_at, stored.restorable_until) == (None, None)
    let_time_pass(context)
    delete(context)
    assert shown(context) == ended
    assert restore(context) == 0


def test_files_and_rows_go_when_the_time_is_over(context: Context, ended: list[int]) -> None:
    mark(context)
    folders = [context.folder_of(read(context, run_id)).path for run_id in ended]
    let_time_pass(context)
    delete(context)
    assert not any(folder.exists() for folder in folders)
    with pytest.raises(NotRestorableError):
        restore(context)


def test_a_run_that_was_deleted_before_its_experiment_stays_deleted(context: Context, ended: list[int]) -> None:
    mark(context, ended[0])
    mark(context)
    with snapshot(context.engine) as db:
        found = undo.deletions(db, None, 10)
    assert [(one.kind, one.id, one.runs) for one in found] == [("experiment", 1, 2)]
    with pytest.raises(NotRestorableError, match="restore the experiment first"):
        restore(context, ended[0])
    assert restore(context) == 2
    assert shown(context) == ended[1:]
    with snapshot(context.engine) as db:
        found = undo.deletions(db, None, 10)
    assert [(one.kind, one.id, one.runs) for one in found] == [("run", ended[0], 1)]
    assert restore(context, ended[0]) == 1
    assert (restore(context, ended[0]), shown(context)) == (0, ended)


def test_a_worker_that_dies_before_it_removes_a_file_has_claimed_the_deletion(
    context: Context, ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the worker dies between its claim and the first file, and then a person asks for an undo."""
    mark(context)
    let_time_pass(context)
    with monkeypatch.context() as patched:
        patched.setattr(tick, "_remove_files", _die)
        with pytest.raises(KeyboardInterrupt):
            delete(context)
    for run_id in (None, ended[1]):
        with pytest.raises(NotRestorableError):
            restore(context, run_id)
    delete(context)
    assert not context.runs_folder.exists() or not any(context.runs_folder.glob("[!.]*/*"))


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_late_tick_lets_a_restore_come_first(context: Context, ended: list[int]) -> None:
    mark(context)
    let_time_pass(context)
    assert restore(context) == 3
    delete(context)
    assert all(context.folder_of(read(context, run_id)).path.is_dir() for run_id in ended)


def test_the_folder_of_an_array_stays_while_one_of_its_runs_can_be_restored(
    far_context: Context, far: Far, experiment: Experiment
) -> None:
    context = far_context
    run_ids, array = ended_array(context, far, experiment, 3)
    with transaction(context.engine) as db:
        deletion.mark_runs(db, Run.id.in_(run_ids[:2]))
    mark(context, run_ids[2])
    delete(context)
    assert array.is_dir()
    let_time_pass(context)
    delete(context)
    assert not array.exists()


@pytest.mark.ring("all")
def test_a_restored_run_gives_its_result_again(context: Context, ended: list[int]) -> None:
    with transaction(context.engine) as db:
        db.execute(update(Run).where(Run.id == ended[0]).values(reuse_key="key"))
    mark(context, ended[0])
    with snapshot(context.engine) as db:
        assert reuse.candidates(db, ["key"]) == {}
    restore(context, ended[0])
    with snapshot(context.engine) as db:
        assert [one.id for one in reuse.candidates(db, ["key"])["key"]] == [ended[0]]
