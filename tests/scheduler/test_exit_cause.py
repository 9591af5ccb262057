"""Why an attempt ended: its own last word counts, also when it comes late or when its job had to be ended after it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.folder.events import Event, Failed, Finished, Paused
from contract.folder.rank_failure import Fall
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Gone
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.ingest import collect
from scheduler.ticks.reap import sweep
from store import jobs as attempts
from store import runs
from store.session import snapshot, transaction
from tests.conftest import Experiment
from tests.scheduler.conftest import read, say
from tests.scheduler.test_arrays import SLURM, Far
from tests.scheduler.test_poll import JOB, STARTED, far, gone, later, site

__all__ = ["far", "site"]
CANCELLED = Gone("the job was cancelled in Slurm", Cause.CANCELLED)
LEFT = Gone("the job failed (NonZeroExitCode)", Cause.FAILURE)
PAUSED = Paused(attempt=1, at=2.0, step=3, saved_step=3, reason="SIGUSR2 to rank 0 on h")
FAILED = Failed(attempt=1, at=2.0, rank=0, reason="ValueError: no")


@pytest.fixture
def run_id(site: Site, experiment: Experiment) -> int:
    """A run that trains, and may be tried again after a failure."""
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(resources=SLURM, retries={"failure": 2}))[1]
    launch(site)
    say(site, run_id, STARTED)
    collect(site)
    return run_id


def cause(site: Site, run_id: int) -> str:
    with snapshot(site.engine) as db:
        (attempt,) = attempts.of_run(db, run_id)
        return attempt.cause


@pytest.mark.parametrize("word", [PAUSED, FAILED])
def test_a_run_whose_ranks_hang_after_its_last_word_is_tried_again_though_its_job_was_cancelled_for_it(
    site: Site, far: Far, run_id: int, word: Event
) -> None:
    """Forces the fault: one rank never leaves, so that the service itself has to end the job of a paused run."""
    say(site, run_id, word)
    collect(site)
    later(site, run_id, moved_at=34)
    sweep(site)
    assert far.cancelled == [], "srun itself ends what hangs, 32 s after the first rank has left"
    later(site, run_id, moved_at=7)
    sweep(site)
    assert far.cancelled == [(JOB, False)]
    assert gone(site, far, run_id, CANCELLED).state == State.QUEUED
    assert cause(site, run_id) == ("preempted" if word is PAUSED else "failure")


@pytest.mark.parametrize("at_once", [True, False], ids=["all told at once", "told as it happens"])
@pytest.mark.parametrize(
    ("ran_s", "signal", "why"),
    [(10, "SIGUSR2", "preempted"), (3505, "SIGUSR2", "time_limit"), (3505, "SIGTERM", "preempted")],
)
def test_a_warning_is_of_the_time_limit_in_a_job_that_is_about_to_reach_it(
    site: Site, far: Far, run_id: int, at_once: bool, ran_s: float, signal: str, why: str
) -> None:
    """Forces the moment: a cluster that warns of a preemption as of the time limit, an hour here (send_user_signal)."""
    gone(site, far, run_id, Gone("the job was preempted by another", Cause.PREEMPTED))
    launch(site)
    paused = Paused(attempt=2, at=100.0 + ran_s, step=3, saved_step=3, reason=f"{signal} to rank 0 on h")
    say(site, run_id, STARTED.model_copy(update={"attempt": 2, "at": 100.0}), *([paused] if at_once else []))
    collect(site)
    if not at_once:
        later(site, run_id, moved_at=ran_s)
        say(site, run_id, paused)
        collect(site)
    assert (read(site, run_id).state, read(site, run_id).own_cause) == (State.PAUSED, why)


def test_a_paused_run_whose_job_somebody_cancels_is_cancelled(site: Site, far: Far, run_id: int) -> None:
    say(site, run_id, PAUSED)
    collect(site)
    assert gone(site, far, run_id, CANCELLED).state == State.CANCELLED


@pytest.mark.parametrize(("word", "state"), [(PAUSED, State.QUEUED), (Finished(attempt=1, at=2.0, step=4), State.DONE)])
@pytest.mark.parametrize("log", ["", "srun: error: h: tasks 0-1: Exited with exit code 4\n"])
def test_what_ranks_said_before_they_left_counts_though_it_is_shown_after_their_job_s_end(
    site: Site, far: Far, run_id: int, word: Event, state: State, log: str
) -> None:
    """Forces the fault: the shared folder is half a minute late, and for Slurm a job that has paused has failed."""
    site.folder_of(read(site, run_id)).log.write_text(log)
    assert gone(site, far, run_id, LEFT).state == State.RUNNING
    say(site, run_id, word)
    collect(site)
    collect(site)
    assert read(site, run_id).state == state


def test_a_word_that_never_comes_is_waited_for_in_vain_for_a_minute_only(site: Site, far: Far, run_id: int) -> None:
    gone(site, far, run_id, LEFT)
    later(site, run_id, gone_at=61)
    collect(site)
    assert (read(site, run_id).state, cause(site, run_id)) == (State.QUEUED, "failure")


def fell(path: Path) -> None:
    (path / "attempts" / "1.rank-1.json").write_text(Fall(at=1.0, rank=1, host="h", reason="no").model_dump_json())


def killed(path: Path) -> None:
    (path / "out.log").write_text("srun: error: h: task 1: Killed\n")


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (LEFT, fell),
        (LEFT, killed),
        (Gone("the job failed (exit code 1:0)", Cause.FAILURE), fell),
        (Gone("the job failed (exit code 0:9)", Cause.FAILURE), None),
        (Gone("a node of the job failed (NonZeroExitCode)", Cause.NODE_FAILURE), None),
    ],
)
def test_a_fall_that_can_be_seen_is_judged_at_once(
    site: Site, far: Far, run_id: int, answer: Gone, shown: object
) -> None:
    if callable(shown):
        shown(site.folder_of(read(site, run_id)).path)
    assert gone(site, far, run_id, answer).state == State.QUEUED


def test_what_a_full_disk_kept_from_speaking_is_judged_at_once(
    site: Site, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk of the run folders has no room for a last word."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    site.folder_of(read(site, run_id)).claim(1, JOB)
    run = gone(site, far, run_id, LEFT)
    assert run.state == State.QUEUED
    assert "the disk of its folder is full" in str(run.reason)
