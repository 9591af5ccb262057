"""Looking: what a far cluster says of its jobs is stored, at its pace, and silence is never taken for death."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, update

from contract.folder.events import Failed, Finished, Points, Started
from contract.lifecycle.pending_reason import Waits
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, BusyError, Gone, Held, Limits, Unknown
from scheduler.clusters.slurm.job_status import LEFT
from scheduler.context import Site
from scheduler.jobs.terminate import end
from scheduler.submit.submission import launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.poll import look
from scheduler.ticks.reap import sweep
from scheduler.ticks.refresh_clusters import observe
from store import jobs as attempts
from store import runs
from store.session import snapshot, transaction
from store.tables import Cluster, Run, now
from tests.conftest import Experiment
from tests.scheduler.conftest import read, say
from tests.scheduler.test_arrays import SLURM, Far

STARTED = Started(attempt=1, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})
JOB = "job1"


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def site(sqlite_engine: Engine, far: Far, tmp_path: Path) -> Site:
    return Site(sqlite_engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


@pytest.fixture
def run_id(site: Site, experiment: Experiment) -> int:
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(resources=SLURM))[1]
    observe(site)
    launch(site)
    return run_id


def look_now(site: Site) -> None:
    """Look whatever the pace is."""
    with transaction(site.engine) as db:
        db.execute(update(Cluster).values(look_after=None))
    look(site)


def later(site: Site, run_id: int, **by_s: float) -> None:
    """Move moments of a run into the past."""
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        for name, seconds in by_s.items():
            setattr(run, name, getattr(run, name) - timedelta(seconds=seconds))


def test_why_a_job_waits_is_stored_and_forgotten_when_it_runs(site: Site, far: Far, run_id: int) -> None:
    far.answers[JOB] = Alive("jobs of a higher priority come first (Priority)", Waits.RESOURCES)
    look_now(site)
    run = read(site, run_id)
    assert (run.waits_for, run.waits_kind) == ("jobs of a higher priority come first (Priority)", "resources")
    far.answers[JOB] = Alive()
    look_now(site)
    assert (read(site, run_id).waits_for, read(site, run_id).waits_kind) == (None, None)


def test_a_cluster_is_asked_at_its_pace_and_by_one_worker(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ask(jobs: Sequence[Held]) -> Mapping[Held, Answer]:
        asked.append(jobs)
        return dict.fromkeys(jobs, Alive())

    monkeypatch.setattr(far, "ask", ask)
    monkeypatch.setattr("scheduler.ticks.poll.RESTLESS_S", 45.0)  # however slow this machine is
    for _ in range(3):
        look(site)
    assert len(asked) == 1
    look_now(site)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("took_s", "remembers_s", "wait_s"),
    [(0.1, None, 6.0), (1.2, None, 12.0), (20.0, None, 15.0), (20.0, 300.0, 15.0), (20.0, 24.0, 12.0)],
)
def test_looks_come_seldom_where_they_take_long_but_before_ended_jobs_are_forgotten(
    site: Site,
    far: Far,
    run_id: int,
    took_s: float,
    remembers_s: float | None,
    wait_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([0.0, took_s])
    monkeypatch.setattr("scheduler.ticks.poll.time", SimpleNamespace(monotonic=lambda: next(moments)))
    monkeypatch.setattr(far, "limits", lambda: Limits(remembers_s=remembers_s))
    before = now()
    look_now(site)
    with snapshot(site.engine) as db:
        after = db.get_one(Cluster, "slurm").look_after
    assert after is not None
    assert before <= after - timedelta(seconds=wait_s) <= now()


def test_points_arrive_while_the_cluster_is_silent(site: Site, far: Far, run_id: int) -> None:
    """Forces the fault: no answer for a while; the run trains on."""
    say(site, run_id, STARTED)
    far.answers[JOB] = Unknown("squeue gave no answer")
    look_now(site)
    say(site, run_id, Points(attempt=1, at=0.0, step=3, values={"loss": 1.0}))
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.step, run.unknown_since is not None) == (State.RUNNING, 3, True)
    far.answers[JOB] = Alive()
    look_now(site)
    assert read(site, run_id).unknown_since is None


def test_a_call_that_was_not_made_says_nothing(site: Site, far: Far, run_id: int) -> None:
    def busy(_: object) -> dict[str, Alive]:
        raise BusyError("spent")

    far.ask = busy  # type: ignore[assignment, method-assign]
    look_now(site)
    assert read(site, run_id).unknown_since is None


def test_a_job_that_nobody_knows_is_alive_as_long_as_it_gives_signs_of_life(site: Site, far: Far, run_id: int) -> None:
    """Forces the fault: squeue is empty, the accounting too, and the controller says that there is no such job."""
    say(site, run_id, STARTED)
    collect(site)
    folder = site.folder_of(read(site, run_id))
    far.answers[JOB] = LEFT
    folder.beat(1)
    look_now(site)
    assert read(site, run_id).unknown_since is None
    (folder.path / "attempts" / "1.beat").unlink()
    look_now(site)
    assert read(site, run_id).unknown_since is not None
    collect(site)
    assert read(site, run_id).state == State.RUNNING, "not known for a moment is not gone"
    later(site, run_id, unknown_since=60)
    look_now(site)
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.attempt) == (State.QUEUED, 1)
    assert "the job has left Slurm" in str(run.reason)


def test_the_end_of_a_job_in_good_order_waits_for_its_last_lines(site: Site, far: Far, run_id: int) -> None:
    """Forces the fault: the shared file system shows the last lines half a minute after Slurm knows of the end."""
    say(site, run_id, STARTED)
    far.answers[JOB] = Gone("the job ended", Cause.DONE)
    look_now(site)
    collect(site)
    assert read(site, run_id).state == State.RUNNING
    say(site, run_id, Finished(attempt=1, at=9.0, step=4))
    collect(site)
    assert read(site, run_id).state == State.DONE


def test_lines_that_come_after_the_end_are_stored(site: Site, far: Far, run_id: int) -> None:
    """Forces the fault: a job was killed, and what it wrote before is shown late."""
    say(site, run_id, STARTED)
    far.answers[JOB] = Gone("the job ran out of memory", Cause.OUT_OF_MEMORY)
    look_now(site)
    collect(site)
    assert read(site, run_id).state == State.FAILED
    say(site, run_id, Points(attempt=1, at=0.0, step=2, values={"loss": 1.0}))
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).step) == (State.FAILED, 2)


def gone(site: Site, far: Far, run_id: int, answer: Gone) -> Run:
    run = read(site, run_id)
    far.answers[str(run.job_id)] = answer
    look_now(site)
    collect(site)
    return read(site, run_id)


def test_a_node_s_failure_is_retried_elsewhere_and_later(site: Site, far: Far, run_id: int) -> None:
    say(site, run_id, STARTED)
    collect(site)
    need = read(site, run_id).need
    run = gone(site, far, run_id, Gone("a node of the job failed", Cause.NODE_FAILURE))
    assert (run.state, run.excluded, run.need != need) == (State.QUEUED, ["h"], True)
    launch(site)
    assert read(site, run_id).state == State.QUEUED, "it waits for half a minute"
    later(site, run_id, not_before=31)
    launch(site)
    assert (read(site, run_id).state, read(site, run_id).attempt) == (State.PENDING, 2)
    assert far.jobs["job2"].excluded == ["h"]
    with snapshot(site.engine) as db:
        assert [(a.number, a.cause, a.job_id, a.hosts) for a in attempts.of_run(db, run_id)] == [
            (1, "node_failure", "job1", ["h"])
        ]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Gone("the job ran out of memory", Cause.OUT_OF_MEMORY), State.FAILED),
        (Gone("the job failed (exit code 0:11)", Cause.FAILURE), State.FAILED),
        (Gone("the job was cancelled in Slurm", Cause.CANCELLED), State.CANCELLED),
        (Gone("the job was preempted by another", Cause.PREEMPTED), State.QUEUED),
        (Gone("the job reached its time limit", Cause.TIME_LIMIT), State.QUEUED),
    ],
)
def test_what_becomes_of_a_run_follows_from_the_cause(
    site: Site, far: Far, run_id: int, answer: Gone, state: State
) -> None:
    say(site, run_id, STARTED)
    collect(site)
    run = gone(site, far, run_id, answer)
    assert run.state == state
    assert answer.reason in str(run.reason)


def test_a_time_limit_without_progress_is_not_tried_over_and_over(site: Site, far: Far, run_id: int) -> None:
    limit = Gone("the job reached its time limit", Cause.TIME_LIMIT)
    assert gone(site, far, run_id, limit).state == State.QUEUED
    launch(site)
    run = gone(site, far, run_id, limit)
    assert run.state == State.FAILED
    assert "had come as far as step 0" in str(run.reason)


def test_a_failure_of_its_own_is_retried_as_often_as_the_spec_says(
    site: Site, far: Far, experiment: Experiment
) -> None:
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(resources=SLURM, retries={"failure": 1, "backoff_s": 0.0}))[1]
    launch(site)
    say(site, run_id, STARTED, Failed(attempt=1, at=1.0, rank=0, reason="ValueError: no"))
    collect(site)
    assert read(site, run_id).state == State.PAUSED, "its job has not left yet"
    assert gone(site, far, run_id, Gone("the job failed", Cause.FAILURE)).state == State.QUEUED
    launch(site)
    say(site, run_id, Failed(attempt=2, at=1.0, rank=0, reason="ValueError: again"))
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.reason) == (
        State.FAILED,
        "ValueError: again; it was tried again once after failure, no more",
    )
    with snapshot(site.engine) as db:
        assert [a.reason for a in attempts.of_run(db, run_id)] == ["ValueError: no", "ValueError: again"]


def test_a_stop_is_told_once_then_forced_and_repeated_when_not_honored(site: Site, far: Far, run_id: int) -> None:
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id == run_id)
    for _ in range(3):
        stop(site)
    assert far.cancelled == [(JOB, False)]
    later(site, run_id, stop_asked_at=16)
    for _ in range(3):
        stop(site)
    assert far.cancelled[1:] == [(JOB, True)]
    later(site, run_id, stop_forced_at=61)
    stop(site)
    assert far.cancelled[2:] == [(JOB, True)]
    assert read(site, run_id).state == State.PENDING
    assert gone(site, far, run_id, Gone("the job was cancelled in Slurm", Cause.CANCELLED)).state == State.CANCELLED


def test_a_job_that_outlives_its_failed_run_is_ended_once(site: Site, far: Far, run_id: int) -> None:
    say(site, run_id, STARTED, Failed(attempt=1, at=1.0, rank=0, reason="no"))
    collect(site)
    for _ in range(3):
        sweep(site)
    assert far.cancelled == [(JOB, False)]
    far.answers[JOB] = Gone("the job was cancelled in Slurm", Cause.CANCELLED)
    look_now(site)
    with snapshot(site.engine) as db:
        assert not runs.with_leftover_jobs(db, 10)


def test_nothing_is_told_to_a_cluster_that_is_absent(site: Site, run_id: int) -> None:
    end(site, "elsewhere", [read(site, run_id)])
