"""Which jobs nobody owns, and when a worker names them."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import update

from contract.api.cluster_report import ClusterReport, QueuedJob
from scheduler.context import Context, Memory
from scheduler.orphans.find import find_orphans
from scheduler.submit.submission import submit_queued
from scheduler.ticks.mark import mark
from scheduler.ticks.refresh_clusters import refresh_clusters
from store import clusters
from store.lifecycle import creation, deletion
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Run
from tests.testing.clusters import SLURM, Far
from tests.testing.runs import job_of, read
from tests.testing.specs import Experiment


def queued(name: str, job_id: str) -> QueuedJob:
    return QueuedJob(
        job_id=job_id, name=name, user="u", partition="p", state="RUNNING", nodes=1, elapsed="1:00", reason="n1"
    )


@pytest.mark.parametrize("pack", [None, 4], ids=["array", "pack"])
def test_a_job_of_many_runs_has_its_owners_when_its_first_run_is_deleted(
    far_context: Context, experiment: Experiment, pack: int | None
) -> None:
    """Before: `bigbatch orphans --cancel` ended the whole array, whose other runs went on."""
    with transaction(far_context.engine) as db:
        id_, (first, *others) = creation.create(db, experiment({"seed": list(range(4))}, resources=SLURM))
        db.get_one(Stored, id_).pack = pack
    submit_queued(far_context)
    name = job_of(far_context, first).name
    key = read(far_context, first).key
    assert key in name
    assert {job_of(far_context, run_id).name for run_id in others} == {name}
    with transaction(far_context.engine) as db:
        db.execute(update(Run).where(Run.id == first).values(deleted_at=now(), restorable_until=None))
        assert deletion.remove_rows(db, first, 100)
    shutil.rmtree(far_context.runs_folder / f"{first:06}-{key}")
    assert find_orphans(far_context.engine, far_context.runs_folder, {"slurm": [queued(name, "77_1")]}) == []
    later = f"bigbatch-{key}-2"
    (found,) = find_orphans(far_context.engine, far_context.runs_folder, {"slurm": [queued(later, "78")]})
    assert later in found.describe()


def test_jobs_are_named_when_their_cluster_has_answered_this_worker(
    far_context: Context, far: Far, far_run_id: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: the first tick looked at the report in the restored database, and a job without a folder had no line."""
    name = f"bigbatch-{read(far_context, far_run_id).key}-2"
    empty = ClusterReport(partitions=[], nodes=[], queue=[])
    with transaction(far_context.engine) as db:
        clusters.store_report(db, "slurm", empty, None)
    worker = replace(far_context, memory=Memory())
    with caplog.at_level(logging.WARNING):
        mark(worker)
        assert caplog.text == ""
        monkeypatch.setattr(far, "report", lambda **_: empty.model_copy(update={"queue": [queued(name, "77")]}))
        monkeypatch.setattr("scheduler.ticks.refresh_clusters.FRESH_FOR", -clusters.LATE_AFTER)
        refresh_clusters(worker)
        for _ in range(2):
            mark(worker)
    assert caplog.text.count(f"slurm job 77 ({name}) belongs to no attempt") == 1


def test_a_search_that_failed_is_made_again(
    far_context: Context, experiment: Experiment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the run folders cannot be listed at the first tick. Before: never again in this worker."""
    with transaction(far_context.engine) as db:
        creation.create(db, experiment(resources=SLURM))
    submit_queued(far_context)
    folder = next(path for path in far_context.runs_folder.iterdir() if path.name.startswith("000001-"))
    folder.rename(folder.with_name(f"000002-{folder.name[7:15]}beefbeefbeef"))
    look: Callable[..., object] = find_orphans

    def fail_once(*arguments: object) -> object:
        monkeypatch.setattr("scheduler.ticks.mark.find_orphans", look)
        raise OSError(112, "the file server is away")

    monkeypatch.setattr("scheduler.ticks.mark.find_orphans", fail_once)
    with pytest.raises(OSError, match="away"):
        mark(far_context)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            mark(far_context)
    assert caplog.text.count("run folder 000002-") == 1
