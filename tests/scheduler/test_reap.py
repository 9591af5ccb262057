"""Jobs that outlive their runs are ended; those that are gone are not asked about again."""

from datetime import timedelta

import pytest

from contract.folder.events import Finished
from scheduler.clusters.cluster import Gone, Unknown
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.ingest import collect
from scheduler.ticks.reap import sweep
from store import runs
from store.session import snapshot
from tests.scheduler.conftest import Puppet, say


@pytest.fixture
def finished(site: Site, run_ids: list[int]) -> None:
    """Three runs that have said their last word, and three jobs that are still there."""
    launch(site)
    for run_id in run_ids:
        say(site, run_id, Finished(attempt=1, at=0.0, step=4))
    collect(site)


def left(site: Site) -> list[str | None]:
    with snapshot(site.engine) as db:
        return [run.job_id for run in runs.with_leftover_jobs(db, 10)]


@pytest.mark.usefixtures("finished")
def test_a_job_has_time_to_end_and_is_then_ended(site: Site, puppet: Puppet, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(site)
    assert puppet.cancelled == []
    monkeypatch.setattr("scheduler.ticks.reap.GRACE", timedelta(0))
    puppet.answers |= {"job1": Gone("the job ended"), "job2": Unknown("no answer")}
    sweep(site)
    assert puppet.cancelled == [("job3", False)]
    assert left(site) == ["job2", "job3"]
    monkeypatch.setattr("scheduler.ticks.reap.FORCE", timedelta(0))
    sweep(site)
    assert puppet.cancelled == [("job3", False), ("job3", True)]
