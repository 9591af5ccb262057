"""A run whose reports cannot be read or stored ends after some failures in a row, and holds up no other run."""

import errno
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from contract.folder.events import Finished, Points
from contract.folder.job_identity import host
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import JobHandle, gone
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.events import uncollected
from scheduler.events.apply import apply_reports
from scheduler.events.report import RunReport
from scheduler.events.tail import Tail, read_tail
from scheduler.events.uncollected import FAILURES, FAILURES_OF_DISK
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import MAX_ROUNDS, ingest
from scheduler.ticks.reap import reap
from store import runs
from store.session import transaction
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, read, sentence

Fault = Callable[[Exception], None]


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    return run_ids[0]


@pytest.fixture
def fail_to_store(run_id: int, monkeypatch: pytest.MonkeyPatch) -> Fault:
    """Let every transaction that stores the first run's report fail with an error."""

    def install(error: Exception) -> None:
        def apply(db: Any, reports: list[RunReport]) -> Any:
            if any(one.run.id == run_id for one in reports):
                raise error
            return apply_reports(db, reports)

        monkeypatch.setattr("scheduler.ticks.ingest.apply_reports", apply)

    return install


def ingest_times(context: Context, count: int) -> None:
    for _ in range(count):
        ingest(context)


def request_stop(context: Context, run_id: int) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)


def point(step: int) -> Points:
    return Points(attempt=1, at=1.0, step=step, values={"loss": 1.0})


@pytest.mark.ring("all")
def test_a_run_whose_report_cannot_be_stored_ends_and_others_go_on(
    context: Context, puppet: Puppet, run_id: int, run_ids: list[int], fail_to_store: Fault
) -> None:
    """Forces the fault: the database refuses what the first run reports, in every tick."""
    fail_to_store(ValueError("int too\x00 large to convert"))
    for number in run_ids:
        report(context, number, STARTED, point(1))
    ingest_times(context, FAILURES - 1)
    assert [read(context, number).state for number in run_ids] == [State.PENDING, State.RUNNING, State.RUNNING]
    ingest(context)
    run, job = read(context, run_id), job_of(context, run_id)
    assert (run.state, job.exit_cause) == (State.FAILED, ExitCause.FAILURE)
    assert sentence(run) == (
        "the service could not read or store what the run wrote (ValueError: int too\ufffd large to convert), "
        "and ended it"
    )
    make_older(context, run_id, moved_at=3600)
    reap(context)
    assert puppet.cancelled == [("job1", False)], "the job of the failed run is ended"


def test_a_run_whose_events_cannot_be_read_ends(context: Context, run_id: int) -> None:
    """Forces the fault: a folder stands in the place of the events file."""
    context.folder_of(read(context, run_id)).events.mkdir()
    ingest_times(context, FAILURES)
    assert read(context, run_id).state is State.FAILED
    assert "(events.jsonl is a folder)" in (sentence(read(context, run_id)) or "")


def test_one_success_begins_the_count_again(context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = context.folder_of(read(context, run_id)).events
    events.mkdir()
    ingest_times(context, FAILURES - 1)
    events.rmdir()
    report(context, run_id, STARTED)
    ingest(context)
    events.unlink()
    events.mkdir()
    ingest_times(context, FAILURES - 1)
    assert read(context, run_id).state is State.RUNNING


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    "error", [OperationalError("x", {}, Exception("server closed")), OSError(errno.ESTALE, "stale")], ids=str
)
def test_a_database_or_a_file_server_that_is_away_ends_no_run(
    context: Context, run_id: int, fail_to_store: Fault, error: Exception
) -> None:
    """Forces the fault: it stays away for longer than any count."""
    report(context, run_id, STARTED)
    fail_to_store(error)
    ingest_times(context, FAILURES_OF_DISK + 1)
    assert read(context, run_id).state is State.PENDING


def test_a_stop_works_while_nothing_of_the_run_can_be_stored(
    context: Context, puppet: Puppet, run_id: int, fail_to_store: Fault
) -> None:
    """Forces the fault: the run was asked to stop, its job has ended, and the end cannot be stored."""
    report(context, run_id, STARTED)
    fail_to_store(ValueError("no"))
    request_stop(context, run_id)
    cancel(context)
    assert puppet.cancelled == [("job1", False)]
    puppet.answers["job1"] = gone(EndKind.SIGNALED)
    ingest_times(context, FAILURES)
    run = read(context, run_id)
    assert (run.state, sentence(run)) == (State.CANCELLED, "stopped on request")


def test_a_stop_works_while_the_run_folder_is_away(
    context: Context, run_id: int, fail_to_store: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncollected, "FAILURES_OF_DISK", FAILURES + 5)
    report(context, run_id, STARTED)
    fail_to_store(OSError(errno.ESTALE, "stale"))
    request_stop(context, run_id)
    ingest_times(context, FAILURES + 4)
    assert read(context, run_id).state is State.PENDING
    ingest(context)
    assert read(context, run_id).state is State.CANCELLED


def test_a_run_that_another_worker_reads_meanwhile_does_not_end(
    context: Context, run_id: int, fail_to_store: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: another worker stores a report of the run while this one has failed for the last time."""
    report(context, run_id, STARTED, Finished(attempt=1, at=2.0, step=4))
    fail_to_store(ValueError("no"))
    ingest_times(context, FAILURES - 1)

    def store_first(*_: object, **__: object) -> None:
        with transaction(context.engine) as db:
            db.get_one(Run, run_id).cursor += 1

    monkeypatch.setattr(uncollected.log, "error", store_first)
    ingest(context)
    assert read(context, run_id).state is State.PENDING


def test_a_cluster_that_fails_does_not_hold_up_another_one(
    context: Context, puppet: Puppet, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: this machine's cluster raises for every question and request."""

    class Broken(Puppet):
        def status(self, jobs: Any) -> Any:
            raise ValueError("invalid literal for int()")

        def cancel(self, jobs: Any, *, force: bool = False) -> Any:
            raise ValueError("invalid literal for int()")

    with transaction(context.engine) as db:
        db.get_one(Run, run_id).cluster = "broken"
    both = Context(context.engine, {"broken": Broken(), "local": puppet}, context.runs_folder, 1)
    other = run_id + 1
    report(context, other, STARTED, point(1))
    for number in (run_id, other, run_id + 2):
        request_stop(context, number)
    with pytest.raises(ExceptionGroup):
        ingest(both)
    with pytest.raises(ExceptionGroup):
        cancel(both)
    assert read(context, other).state is State.RUNNING
    assert ("job2", False) in puppet.cancelled


@pytest.mark.parametrize(
    "job_id", ["", "x", "a@b:c", "a@{host}:", "a@{host}:-1", "a@{host}:99999999999999", "a@{host}:x"]
)
def test_an_id_that_is_no_process_of_this_machine_raises_nothing(job_id: str) -> None:
    """Forces the fault: the id comes from a claim that a job wrote; one bad id must not stop questions about others."""
    handle = JobHandle(job_id.replace("{host}", host()), "a")
    cluster = Local()
    assert list(cluster.status([handle])) == [handle]
    assert cluster.cancel([handle], force=True) == []


def test_a_job_that_writes_without_end_does_not_hold_the_tick(
    context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the job writes more while each part is read; without a bound the tick would last for ever."""
    report(context, run_id, STARTED)
    cursors: list[int] = []

    def read_and_write(folder: RunFolder, cursor: int, max_bytes: int) -> Tail:
        cursors.append(cursor)
        assert len(cursors) < 100
        tail = read_tail(folder, cursor, max_bytes)
        report(context, run_id, point(len(cursors)))
        return tail._replace(more=True)

    monkeypatch.setattr("scheduler.events.read_report.read_tail", read_and_write)
    ingest(context)
    assert (len(cursors), read(context, run_id).state) == (MAX_ROUNDS, State.RUNNING)
