"""Ends that look like scancel and are none: a host that refuses a job, and a task that its array no longer has.

Seen on the lab with Slurm 22.05.8: slurmd cancels a job whose prolog fails, unless the job may be requeued, and drains
the host; of a pending task that is cancelled by its number no record remains, neither in squeue nor in sacct.
"""

from datetime import timedelta

import pytest

from contract.api.cluster_report import ClusterReport
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import JobEnded, Retried
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone, RateLimitedError, gone
from scheduler.clusters.slurm.job_status import TAKEN_OUT
from scheduler.context import Context
from scheduler.ticks.cancel import cancel
from scheduler.ticks.poll import LOST_AFTER
from store import runs
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.clusters import Far
from tests.testing.decisions import cluster_report
from tests.testing.runs import job_of, make_older, read, report_gone

pytestmark = pytest.mark.ring("quick")
REFUSED = gone(EndKind.CANCELLED)._replace(hosts=("b",))


@pytest.fixture
def context(far_context: Context) -> Context:
    return far_context


@pytest.fixture
def run_id(far_run_id: int) -> int:
    return far_run_id


def with_hosts(far: Far, monkeypatch: pytest.MonkeyPatch, *, is_down: bool) -> None:
    """Let the cluster report its hosts; host b is out of service, or none is."""
    monkeypatch.setattr(far, "report", lambda urgent=False: cluster_report(is_host_down=is_down))


def claim(context: Context, run_id: int) -> None:
    context.folder_of(read(context, run_id)).claim(1, str(job_of(context, run_id).external_id))


def test_a_job_that_a_host_refused_is_tried_again_without_that_host(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the prolog of host b failed, so its script never began, and Slurm drained the host."""
    with_hosts(far, monkeypatch, is_down=True)
    run = report_gone(context, far, run_id, REFUSED)
    assert (run.state, run.excluded) == (State.QUEUED, ["b"])
    assert isinstance(run.reason, Retried)
    assert isinstance(run.reason.after, JobEnded)
    assert run.reason.after.end.kind is EndKind.LAUNCH_FAILED


def cancelled_after(seconds: float) -> Gone:
    """Return the end of a job that host b may have refused so long after its start."""
    started_at = now().replace(microsecond=0)
    end = REFUSED.end.model_copy(update={"at": started_at + timedelta(seconds=seconds)})
    return REFUSED._replace(started_at=started_at, end=end)


@pytest.mark.parametrize(("seconds", "state"), [(0, State.QUEUED), (1, State.QUEUED), (2, State.CANCELLED)])
def test_a_job_that_a_host_refuses_at_once_is_tried_again_although_the_host_is_in_service_again(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch, seconds: float, state: State
) -> None:
    """Forces the fault of the chaos of 2026-11-29: a crashed controller gave the id of a job that host b still ran."""
    with_hosts(far, monkeypatch, is_down=False)
    run = report_gone(context, far, run_id, cancelled_after(seconds))
    assert run.state is state
    if state is State.QUEUED:
        assert isinstance(run.reason, Retried)
        assert isinstance(run.reason.after, JobEnded)
        assert run.reason.after.end.kind is EndKind.LAUNCH_FAILED


def test_scancel_at_the_start_of_a_job_that_has_begun_cancels_the_run(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_hosts(far, monkeypatch, is_down=False)
    claim(context, run_id)
    assert report_gone(context, far, run_id, cancelled_after(0)).state is State.CANCELLED


def test_scancel_before_the_script_begins_cancels_the_run(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_hosts(far, monkeypatch, is_down=False)
    assert report_gone(context, far, run_id, REFUSED).state is State.CANCELLED


def test_scancel_of_a_job_that_has_begun_cancels_the_run_whatever_its_host_does(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_hosts(far, monkeypatch, is_down=True)
    claim(context, run_id)
    assert report_gone(context, far, run_id, REFUSED).state is State.CANCELLED


def test_a_stop_that_meets_a_drained_host_cancels_the_run(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_hosts(far, monkeypatch, is_down=True)
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)
    cancel(context)
    assert report_gone(context, far, run_id, REFUSED).state is State.CANCELLED


def test_the_end_of_a_job_that_never_began_waits_for_the_state_of_its_hosts(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: no call is free for the state of the hosts when the end is seen."""

    def rate_limited(urgent: bool = False) -> ClusterReport:
        raise RateLimitedError("the rate limit is reached")

    monkeypatch.setattr(far, "report", rate_limited)
    assert report_gone(context, far, run_id, REFUSED).state is State.PENDING
    make_older(context, run_id, unknown_since=70)  # the rate limit has a report each minute
    assert report_gone(context, far, run_id, REFUSED).state is State.PENDING
    with_hosts(far, monkeypatch, is_down=True)
    assert report_gone(context, far, run_id, REFUSED).state is State.QUEUED


def after_silence(context: Context, far: Far, run_id: int) -> State:
    """Return the state after the task was missing from its array for long."""
    assert report_gone(context, far, run_id, TAKEN_OUT).state is State.PENDING, "an answer may be incomplete"
    make_older(context, run_id, unknown_since=LOST_AFTER.total_seconds() + 1)
    return report_gone(context, far, run_id, TAKEN_OUT).state


def test_scancel_of_one_pending_task_of_an_array_cancels_its_run(context: Context, far: Far, run_id: int) -> None:
    assert after_silence(context, far, run_id) is State.CANCELLED


def test_a_task_that_has_begun_and_that_its_array_no_longer_has_is_lost(
    context: Context, far: Far, run_id: int
) -> None:
    """Forces the fault: the controller forgot the task's end, and the cluster has no accounting."""
    claim(context, run_id)
    assert after_silence(context, far, run_id) is State.QUEUED
