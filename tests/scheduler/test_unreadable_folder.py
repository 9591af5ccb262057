"""A run that makes its own folder unreadable: a fact that ends it, in few lines of the log, and holds up nobody."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.events import uncollected
from scheduler.events.obstacle import find_obstacle
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.lifecycle import creation
from store.session import engine_for, transaction
from tests.testing.clusters import Far, Puppet
from tests.testing.databases import copy_sqlite
from tests.testing.events import STARTED, report
from tests.testing.hostile_files import IRREGULAR, plant
from tests.testing.other_user import open_folder_of_tests, without_root
from tests.testing.runs import create_runs, job_of, poll_now, read, sentence
from tests.testing.specs import Experiment, small_experiment

ENDED = gone(EndKind.EXITED, exit_code=0)
FAILURES = 9


@pytest.fixture
def closed(sqlite_template: Path, puppet: Puppet, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """A service whose user is kept out by modes, with two runs that have begun; its minutes are few ticks."""
    monkeypatch.setattr(uncollected, "FAILURES_OF_DISK", FAILURES)
    with open_folder_of_tests() as folder:
        engine = engine_for(copy_sqlite(sqlite_template, folder / "bigbatch.db"))
        context = Context(engine, {"local": puppet}, folder / "runs", local_ranks=1000)
        with transaction(engine) as db:
            creation.create(db, small_experiment({"seed": [0, 1]}))
        submit_queued(context)
        for run_id in (1, 2):
            report(context, run_id, STARTED)
        ingest(context)
        with without_root(folder):
            yield context
        for path in folder.rglob("*"):
            path.chmod(0o700)
        engine.dispose()


def close(context: Context, run_id: int, name: str, mode: int = 0) -> None:
    (context.folder_of(read(context, run_id)).path / name).chmod(mode)


def ingest_times(context: Context, count: int) -> None:
    for _ in range(count):
        ingest(context)


@pytest.mark.parametrize(
    ("name", "mode", "words"),
    [
        ("", 0o000, "the run's folder has the mode 000"),
        ("", 0o300, "the run's folder has the mode 300"),
        ("events.jsonl", 0o000, "events.jsonl has the mode 000"),
        ("attempts", 0o000, "attempts has the mode 000"),
    ],
)
def test_a_folder_that_cannot_be_read_for_minutes_ends_its_run_after_its_job(
    closed: Context, puppet: Puppet, caplog: pytest.LogCaptureFixture, name: str, mode: int, words: str
) -> None:
    """Before: the run stayed `running` and held its ranks, and each second had a traceback in the log."""
    close(closed, 1, name, mode)
    report(closed, 2, STARTED)
    ingest_times(closed, 2 * FAILURES)
    assert read(closed, 1).state is State.RUNNING, "its job goes on, and the folder may be opened again"
    puppet.answers["job1"] = ENDED
    ingest_times(closed, FAILURES - 1)
    assert read(closed, 1).state is State.RUNNING
    ingest_times(closed, 1)
    run = read(closed, 1)
    assert (run.state, job_of(closed, 1).exit_cause) == (State.FAILED, ExitCause.FAILURE)
    assert sentence(run) == f"the service could not read or store what the run wrote ({words}), and ended it"
    assert read(closed, 2).state is State.RUNNING
    ingest_times(closed, 2 * FAILURES)
    lines = [record for record in caplog.records if record.name == uncollected.log.name]
    assert {record.getMessage() for record in lines} == {f"run 1 could not be read: {words}"}, "which the log folds"
    assert not any(record.exc_info for record in lines)


def test_a_folder_that_is_opened_again_ends_as_its_job_does(closed: Context, puppet: Puppet) -> None:
    close(closed, 1, "")
    puppet.answers["job1"] = ENDED
    ingest_times(closed, FAILURES - 1)
    close(closed, 1, "", 0o700)
    ingest_times(closed, 1)
    assert "could not read" not in str(sentence(read(closed, 1)))
    assert closed.memory.ingest_failures == {}


def test_a_file_server_that_is_away_ends_no_run_though_its_job_has_ended(
    closed: Context, puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the folder is as it should be, and each read of it is refused, as without a Kerberos ticket."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("scheduler.events.read_report.has_grown", refuse)
    puppet.answers["job1"] = ENDED
    ingest_times(closed, 3 * FAILURES)
    assert read(closed, 1).state is State.RUNNING


@pytest.mark.parametrize("kind", ["FIFO", "link to zero", "dangling link"])
@pytest.mark.parametrize("name", ["events.jsonl", "."])
def test_a_fifo_in_the_place_of_a_folder_or_its_events_ends_the_run_in_a_few_lines(
    context: Context, run_ids: list[int], caplog: pytest.LogCaptureFixture, kind: str, name: str
) -> None:
    submit_queued(context)
    path = context.folder_of(read(context, run_ids[0])).path
    if name == ".":
        path.rename(f"{path}-away")
    plant(path / name, kind)
    ingest_times(context, uncollected.FAILURES)
    run = read(context, run_ids[0])
    if (kind, name) == ("dangling link", "."):
        assert run.state is State.PENDING  # as a folder that is gone
        return
    assert run.state is State.FAILED
    what = "events.jsonl" if name == "events.jsonl" else "the run's folder"
    assert f"({what} is {'a FIFO' if kind == 'FIFO' else 'a symbolic link'})" in str(sentence(run))
    assert len({record.getMessage() for record in caplog.records if record.name.startswith("scheduler.")}) <= 2
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("kind", IRREGULAR)
def test_the_end_of_a_job_whose_events_are_irregular_names_them(context: Context, puppet: Puppet, kind: str) -> None:
    (run_id, *_) = create_runs_of(context)
    plant(context.folder_of(read(context, run_id)).events, kind)
    puppet.answers["job1"] = gone(EndKind.SIGNALED, "SIGKILL")
    ingest_times(context, 2)
    assert "events.jsonl is a" in str(sentence(read(context, run_id)))


def create_runs_of(context: Context) -> list[int]:
    with transaction(context.engine) as db:
        ids = creation.create(db, small_experiment())[1]
    submit_queued(context)
    return ids


@pytest.mark.parametrize("make", [lambda path: path.chmod(0), lambda path: path.rename(f"{path}-away")])
def test_a_poll_goes_on_beside_a_folder_that_cannot_be_read(
    closed: Context, experiment: Experiment, make: Callable[[Path], None]
) -> None:
    """Before: one closed folder stopped the poll of all jobs of a cluster, once its job was listed as cancelled."""
    far = Far()
    context = Context(closed.engine, {"slurm": far}, closed.runs_folder, 1)
    ids = create_runs(context, experiment, 2)
    submit_queued(context)
    path = context.folder_of(read(context, ids[0])).path
    make(path)
    if not path.exists():
        os.mkfifo(path)
    context.folder_of(read(context, ids[1])).claim(1, "it has begun")
    for run_id in ids:
        answer = gone(EndKind.CANCELLED)._replace(hosts=["n1"])
        far.answers[str(job_of(context, run_id).external_id)] = answer
    poll_now(context)
    assert job_of(context, ids[1]).observed_end


def test_a_folder_without_an_obstacle_has_none(tmp_path: Path) -> None:
    folder = RunFolder.of(tmp_path, 1, "cafe")
    assert find_obstacle(folder) is None
    folder.prepare({})
    folder.events.touch()
    assert find_obstacle(folder) is None


def test_a_system_that_asks_for_the_real_user_alone_is_asked_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the C library has no faccessat with AT_EACCESS, so Python refuses `effective_ids`."""
    folder, access = RunFolder.of(tmp_path, 1, "cafe"), os.access
    folder.prepare({})

    def refuse(path: Path, mode: int, *, effective_ids: bool = False) -> bool:
        if effective_ids:
            raise NotImplementedError("access: effective_ids unavailable on this platform")
        return access(path, mode)

    monkeypatch.setattr(os, "access", refuse)
    monkeypatch.setattr(os, "supports_effective_ids", set())
    assert find_obstacle(folder) is None
