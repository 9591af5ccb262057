"""Stopping: whatever state the run is in, and by force when asking does not help."""

from datetime import timedelta

import pytest

from contract.folder.events import Failed, Finished
from contract.lifecycle.state import State
from scheduler.clusters.cluster import DoubtError, Gone
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.refresh_clusters import observe
from store import clusters, runs
from store.session import snapshot, transaction
from store.tables import Run
from tests.scheduler.conftest import Puppet, read, say


def want(site: Site, run_id: int) -> None:
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id == run_id)


def test_a_queued_run_is_cancelled_without_asking_anybody(site: Site, puppet: Puppet, run_ids: list[int]) -> None:
    want(site, run_ids[0])
    stop(site)
    run = read(site, run_ids[0])
    assert (run.state, run.reason, puppet.cancelled) == (State.CANCELLED, "stopped on request", [])


def test_a_live_run_is_asked_first_and_forced_later(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(site)
    want(site, run_ids[0])
    stop(site)
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    stop(site)
    assert puppet.cancelled == [("job1", False), ("job1", True)]
    assert read(site, run_ids[0]).state == State.PENDING, "it ends when its job is seen to have ended"
    puppet.answers["job1"] = Gone("the job was ended by SIGTERM")
    collect(site)
    assert (read(site, run_ids[0]).state, read(site, run_ids[0]).reason) == (State.CANCELLED, "stopped on request")


@pytest.mark.parametrize(
    ("word", "state"),
    [
        (Finished(attempt=1, at=0.0, step=4), State.DONE),
        (Failed(attempt=1, at=0.0, rank=0, reason="stopped by a signal"), State.CANCELLED),
    ],
)
def test_a_last_word_that_crosses_the_stop_counts(
    site: Site, run_ids: list[int], word: Finished | Failed, state: State
) -> None:
    launch(site)
    want(site, run_ids[0])
    say(site, run_ids[0], word)
    collect(site)
    assert read(site, run_ids[0]).state == state


def test_a_cluster_that_does_not_answer_is_asked_again(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: scancel gets no answer once."""
    launch(site)
    want(site, run_ids[0])

    def silent(*_: object, **__: object) -> None:
        raise DoubtError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(puppet, "cancel", silent)
        stop(site)
    stop(site)
    assert puppet.cancelled == [("job1", False)]


def test_a_job_that_the_cluster_did_not_list_was_not_told_and_is_asked_before_it_is_killed(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the list of jobs, by which it is known whose a job's id is now, comes without the job."""
    monkeypatch.setattr(Puppet, "is_here", False)
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    launch(site)
    want(site, run_ids[0])
    puppet.unlisted = {"job1"}
    stop(site)
    assert (read(site, run_ids[0]).stop_asked_at, puppet.cancelled) == (None, [])
    puppet.unlisted = set()
    stop(site)
    assert puppet.cancelled == [], "it is not asked about every second"
    monkeypatch.setattr("scheduler.jobs.terminate._unlisted_until", {})
    stop(site)
    stop(site)
    assert puppet.cancelled == [("job1", False), ("job1", True)]


def test_what_a_cluster_does_not_say_is_stored_as_well(site: Site) -> None:
    observe(site)
    with snapshot(site.engine) as db:
        assert [(row.kind, row.error) for row in clusters.all_of(db)] == [("local", "no answer")]
