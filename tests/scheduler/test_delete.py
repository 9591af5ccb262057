"""The delete tick: files go before rows, a job that may still write delays it, and a kill in between leaves nothing."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.api.site_check import Grade
from contract.folder.events import Finished, Points
from contract.folder.files.whole_folder import LOOK, measure_folder, remove_below, remove_folder
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.doctor import deletions
from scheduler.doctor.deletions import check_deletions
from scheduler.submit.submission import submit_queued
from scheduler.ticks import delete as tick
from scheduler.ticks.delete import delete
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from store.lifecycle import creation, deletion
from store.lifecycle.tags import store_run_tags
from store.session import snapshot, transaction
from store.tables.base import Table
from store.tables.experiments import Experiment as Stored
from store.tables.points import Chunk, Series
from store.tables.runs import Job, Move, Run, RunTag
from tests.testing.clusters import Far, Puppet
from tests.testing.ended_arrays import ended_array
from tests.testing.events import STARTED, report
from tests.testing.other_user import open_folder_of_tests, without_root
from tests.testing.runs import read
from tests.testing.specs import Experiment, small_experiment
from tests.testing.stored_runs import move


@pytest.fixture
def finished(context: Context, run_ids: list[int], puppet: Puppet) -> list[int]:
    """Three runs of an experiment that have finished with points, and whose jobs have left."""
    submit_queued(context)
    for run_id in run_ids:
        points = [Points(attempt=1, at=1.0, step=step, values={"loss": 1.0}) for step in range(1, 20_001)]
        report(context, run_id, STARTED, *points, Finished(attempt=1, at=2.0, step=4))
        puppet.answers[f"job{run_id}"] = gone(EndKind.EXITED, exit_code=0)
    ingest(context)
    reap(context)
    with transaction(context.engine) as db:
        store_run_tags(db, run_ids[0], present=(), wanted=["a"])
        creation.create(db, small_experiment())
    return run_ids


def counts(context: Context) -> dict[str, int]:
    with snapshot(context.engine) as db:
        return {table.__tablename__: count(db, table) for table in (Stored, Run, Job, Series, Chunk, RunTag)}


def count(db: Session, table: type[Table]) -> int:
    return db.scalar(select(func.count()).select_from(table)) or 0


def mark(context: Context, experiment_id: int) -> None:
    with transaction(context.engine) as db:
        deletion.mark_experiment(db, experiment_id)


@pytest.mark.ring("all")
def test_a_deleted_experiment_leaves_neither_files_nor_rows(context: Context, finished: list[int]) -> None:
    mark(context, 1)
    folders = [context.folder_of(read(context, run_id)).path for run_id in finished]
    assert all(folder.is_dir() for folder in folders)
    delete(context)
    assert not any(folder.exists() for folder in folders)
    assert counts(context) == {"experiments": 1, "runs": 1, "jobs": 0, "series": 0, "chunks": 0, "run_tags": 0}
    with snapshot(context.engine) as db:
        assert set(db.scalars(select(Move.run_id))) == {4}


@pytest.mark.ring("all")
def test_the_newest_row_stays_until_there_is_a_later_one(context: Context, finished: list[int]) -> None:
    with transaction(context.engine) as db:
        move(db, db.get_one(Run, 4), State.CANCELLED)
        deletion.mark_experiment(db, 2)
    delete(context)
    with transaction(context.engine) as db:
        assert {count(db, Stored), count(db, Run)} == {2, 4}
        assert creation.create(db, small_experiment()) == (3, [5])
    delete(context)
    delete(context)
    with snapshot(context.engine) as db:
        assert sorted(db.scalars(select(Run.id))) == [*finished, 5]
        assert sorted(db.scalars(select(Stored.id))) == [1, 3]


@pytest.mark.ring("all")
def test_a_worker_that_dies_between_files_and_rows_leaves_the_rest_for_the_next(
    context: Context, finished: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the worker dies after the files of the first run, and after a part of the points of another."""
    mark(context, 1)
    with monkeypatch.context() as patched:
        patched.setattr(tick, "_remove_rows", _die)
        with pytest.raises(KeyboardInterrupt):
            delete(context)
    monkeypatch.setattr(tick, "MAX_ROWS", 2)
    with monkeypatch.context() as patched:
        patched.setattr(tick, "BUDGET_S", 0.0)
        delete(context)
    delete(context)
    assert counts(context)["runs"] == 1


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_whose_job_still_lives_is_deleted_after_the_job(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    submit_queued(context)
    for run_id in run_ids:
        report(context, run_id, STARTED, Finished(attempt=1, at=2.0, step=4))
    ingest(context)
    mark(context, 1)
    delete(context)
    folder = context.folder_of(read(context, run_ids[0])).path
    assert folder.is_dir()
    puppet.answers = {f"job{run_id}": gone(EndKind.EXITED, exit_code=0) for run_id in run_ids}
    reap(context)
    delete(context)
    assert not folder.exists()


def test_the_folder_of_an_array_goes_with_its_last_run(far_context: Context, far: Far, experiment: Experiment) -> None:
    context = far_context
    run_ids, array = ended_array(context, far, experiment, 3)
    assert array.is_dir()
    for run_id in run_ids:
        assert array.is_dir()
        with transaction(context.engine) as db:
            deletion.mark_runs(db, Run.id == run_id)
        delete(context)
    assert not array.exists()


def test_a_folder_is_removed_at_any_depth_and_no_link_is_followed(tmp_path: Path) -> None:
    """Forces what a hostile job leaves: folders deeper than any path, links out of the folder, names of a removal."""
    outside, folder = tmp_path / "outside", tmp_path / "run"
    (outside / "inner").mkdir(parents=True)
    (outside / "file").write_text("x")
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "link").symlink_to(outside)
    (folder / "link").symlink_to(outside / "file")
    (folder / f".removed-{os.getpid()}-0" / "x").mkdir(parents=True)
    (folder / "file").write_text("12345")
    at = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep-folder", dir_fd=at)
        below = os.open("deep-folder", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    calls: list[int] = []
    assert measure_folder(folder / "a", 1e12) == (0, 0, True)
    assert not measure_folder(folder, 0.0).is_complete
    remove_folder(folder, lambda: calls.append(1))
    assert not folder.exists()
    assert (outside / "file").read_text() == "x"
    assert len(calls) > 3
    remove_folder(folder)
    folder.symlink_to(outside)
    remove_folder(folder)
    assert (folder.is_symlink(), (outside / "inner").is_dir()) == (False, True)


def test_the_size_of_a_folder_of_many_files_is_counted_as_far_as_the_time_allows(tmp_path: Path) -> None:
    """Forces the fault: one folder has more files than can be counted in the time; all of them were counted first."""
    for number in range(LOOK + 50):
        (tmp_path / str(number)).write_bytes(b"1")
    assert measure_folder(tmp_path, 0.0) == (LOOK - 1, LOOK - 1, False)
    assert measure_folder(tmp_path, 1e12) == (LOOK + 50, LOOK + 50, True)


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder whose folders its job has closed, deep and at its top, and one that is empty."""
    with open_folder_of_tests() as above:
        (above / "run" / "a" / "b" / "c").mkdir(parents=True)
        (above / "run" / "empty").mkdir()
        for name in ("file", "a/file", "a/b/c/file"):
            (above / "run" / name).touch()
        yield above / "run"


@pytest.mark.parametrize("mode", [0o555, 0o000, 0o400, 0o100])
def test_folders_that_a_job_has_closed_are_removed(closed: Path, mode: int) -> None:
    """Before: `chmod 555` on its folders kept a deleted run on the disk for ever."""
    with without_root(closed.parent):
        for name in ("a/b/c", "a/b", "a", "empty", ""):
            (closed / name).chmod(mode)
        assert not measure_folder(closed, 1e12).is_complete or mode == 0o555
        remove_folder(closed)
    assert not closed.exists()


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_an_output_in_closed_folders_is_removed_and_nothing_else(closed: Path, mode: int) -> None:
    with without_root(closed.parent):
        for name in ("a/b/c", "a/b", "a", ""):
            (closed / name).chmod(mode)
        remove_below(closed, "a/b")
        assert (os.listdir(closed / "a"), sorted(os.listdir(closed))) == (["file"], ["a", "empty", "file"])


def test_folders_of_another_user_are_an_error_that_names_one(closed: Path) -> None:
    with without_root(closed.parent):
        pass
    os.chown(closed / "a", 0, 0)
    with without_root(closed / "empty"), pytest.raises(PermissionError, match="a"):
        remove_folder(closed)


def test_runs_that_cannot_be_removed_keep_no_other_from_its_removal(
    context: Context, finished: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before: the oldest hundred were tried each time, so a hundred that failed stopped all deletions for good."""
    monkeypatch.setattr(tick, "BATCH", 1)
    stuck = context.folder_of(read(context, finished[0])).path
    tried: list[Path] = []

    def remove(path: Path, progress: Callable[[], None]) -> None:
        tried.append(path)
        if path == stuck:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        remove_folder(path, progress)

    monkeypatch.setattr(tick, "remove_folder", remove)
    mark(context, 1)
    for _ in range(3):
        delete(context)
    assert [path for path in tried if path == stuck] == [stuck]
    assert [line.getMessage().split(": ")[0] for line in caplog.records] == [
        f"the files of deleted run {finished[0]} cannot be removed, next try in 20 s"
    ]
    with snapshot(context.engine) as db:
        assert [run.id for run in deletion.removable(db, 10)] == [finished[0]]
    settings = Settings(runs=context.runs_folder, delete_hours=0)
    assert [check.grade for check in check_deletions(settings, context.engine)] == [Grade.OK], "it may go on still"
    monkeypatch.setattr(deletions, "LATE", timedelta(0))
    (check,) = check_deletions(settings, context.engine)
    assert (check.grade, check.found) == (
        Grade.WARNING,
        f"1 cannot be removed, or wait for their jobs: {stuck}",
    )
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 21)
    delete(context)
    assert tried.count(stuck) == 2
    assert (
        caplog.records[-1]
        .getMessage()
        .startswith(f"the files of deleted run {finished[0]} cannot be removed, next try in 40 s")
    )
