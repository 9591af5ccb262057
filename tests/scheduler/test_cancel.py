"""The cancel tick: it stops a run in every state, and kills a job that does not end on request."""

from datetime import timedelta

import pytest

from contract.folder.events import Failed, Finished
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import NoAnswerError, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.refresh_clusters import refresh_clusters
from store import clusters, runs
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.events import report
from tests.testing.runs import job_of, read, sentence


def request_stop(context: Context, run_id: int) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)


def test_a_queued_run_is_cancelled_without_a_call_of_its_cluster(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    request_stop(context, run_ids[0])
    cancel(context)
    run = read(context, run_ids[0])
    assert (run.state, sentence(run), puppet.cancelled) == (State.CANCELLED, "stopped on request", [])


def test_a_live_job_is_asked_to_end_first_and_killed_later(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_queued(context)
    request_stop(context, run_ids[0])
    cancel(context)
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    cancel(context)
    assert puppet.cancelled == [("job1", False), ("job1", True)]
    assert read(context, run_ids[0]).state == State.PENDING, "the run ends when its job has ended"
    puppet.answers["job1"] = gone(EndKind.SIGNALED)
    ingest(context)
    assert (read(context, run_ids[0]).state, sentence(read(context, run_ids[0]))) == (
        State.CANCELLED,
        "stopped on request",
    )


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (Finished(attempt=1, at=0.0, step=4), State.DONE),
        (Failed(attempt=1, at=0.0, rank=0, reason="stopped by a signal"), State.CANCELLED),
    ],
)
def test_a_reported_end_counts_after_a_stop_request(
    context: Context, run_ids: list[int], event: Finished | Failed, state: State
) -> None:
    submit_queued(context)
    request_stop(context, run_ids[0])
    report(context, run_ids[0], event)
    ingest(context)
    assert read(context, run_ids[0]).state == state


def test_a_cluster_that_does_not_answer_is_asked_again(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: scancel gets no answer once."""
    submit_queued(context)
    request_stop(context, run_ids[0])

    def no_answer(*_: object, **__: object) -> None:
        raise NoAnswerError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(puppet, "cancel", no_answer)
        cancel(context)
    cancel(context)
    assert puppet.cancelled == [("job1", False)]


def test_a_job_that_the_cluster_did_not_list_is_asked_to_end_before_it_is_killed(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the cluster's list of jobs omits the job, so its id may belong to another job."""
    monkeypatch.setattr(Puppet, "is_local", False)
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    submit_queued(context)
    request_stop(context, run_ids[0])
    puppet.unlisted = {"job1"}
    cancel(context)
    assert (job_of(context, run_ids[0]).stop_requested_at, puppet.cancelled) == (None, [])
    puppet.unlisted = set()
    cancel(context)
    assert puppet.cancelled == [], "a job that was not listed is left out for a while"
    context.memory.unlisted_until.clear()
    cancel(context)
    cancel(context)
    assert puppet.cancelled == [("job1", False), ("job1", True)]


def test_the_error_of_a_cluster_without_an_answer_is_stored(context: Context) -> None:
    refresh_clusters(context)
    with snapshot(context.engine) as db:
        assert [(row.kind, row.error) for row in clusters.reports(db)] == [("local", "no answer")]
