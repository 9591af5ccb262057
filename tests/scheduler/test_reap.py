"""The reap tick: it ends jobs that outlive their runs; jobs that are gone are not polled again."""

from datetime import timedelta

import pytest

from contract.folder.events import Finished
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import Unknown, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from store import runs
from store.session import snapshot
from tests.testing.clusters import Puppet
from tests.testing.events import report


@pytest.fixture
def finished(context: Context, run_ids: list[int]) -> None:
    """Three runs that have reported their end, and three jobs that are still alive."""
    submit_queued(context)
    for run_id in run_ids:
        report(context, run_id, Finished(attempt=1, at=0.0, step=4))
    ingest(context)


def open_jobs(context: Context) -> list[str | None]:
    with snapshot(context.engine) as db:
        return [run.current_job.external_id for run in runs.with_open_jobs(db, 10) if run.current_job]


@pytest.mark.usefixtures("finished")
def test_a_job_is_asked_to_end_after_a_grace_time_and_then_killed(
    context: Context, puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    reap(context)
    assert puppet.cancelled == []
    monkeypatch.setattr("scheduler.ticks.reap.GRACE", timedelta(0))
    puppet.answers |= {"job1": gone(EndKind.COMPLETED)._replace(cause=ExitCause.FAILURE), "job2": Unknown("no answer")}
    reap(context)
    assert puppet.cancelled == [("job3", False)]
    assert open_jobs(context) == ["job2", "job3"]
    monkeypatch.setattr("scheduler.ticks.reap.KILL_AFTER", timedelta(0))
    reap(context)
    assert puppet.cancelled == [("job3", False), ("job3", True)]
