"""Which jobs nobody owns."""

import shutil

import pytest
from sqlalchemy import update

from contract.api.cluster_report import QueuedJob
from scheduler.context import Context
from scheduler.orphans.find import find_orphans
from scheduler.submit.submission import submit_queued
from store import runs
from store.lifecycle import deletion
from store.session import transaction
from store.tables import Experiment as Stored
from store.tables import Run, now
from tests.testing.clusters import SLURM
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
        id_, (first, *others) = runs.create(db, experiment({"seed": list(range(4))}, resources=SLURM))
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
