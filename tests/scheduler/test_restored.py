"""A database that was restored, so that it is older than its run folders, its jobs and the ids that were given."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from contract.api.cluster_report import QueuedJob
from contract.api.site_check import Grade
from contract.folder.events import Finished, Paused
from contract.folder.run_folder import ABANDONED
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import FoundInFolder
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.clusters.cluster import gone
from scheduler.context import Context, Memory
from scheduler.doctor.orphans import check_orphans
from scheduler.orphans.adopt import adopt_orphans, cancel_orphans
from scheduler.orphans.find import find_orphans
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.mark import mark
from scheduler.ticks.reap import reap
from store import runs, service
from store.lifecycle import creation
from store.restored import Restored, bring_up
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Job, Run
from store.tables.service import Service
from tests.testing.clusters import SLURM, Far, Puppet
from tests.testing.events import report
from tests.testing.restored import begin, copied, create
from tests.testing.runs import job_of, poll_now, read
from tests.testing.specs import Experiment

Backup = Callable[[Context], Context]


@pytest.fixture
def backup(tmp_path: Path) -> Backup:
    """Copy a database."""

    return lambda context: copied(context, tmp_path / "copy.db")


@pytest.fixture
def here(far_context: Context, puppet: Puppet) -> Context:
    """A worker with a cluster of this machine."""
    return replace(far_context, clusters={"local": puppet}, local_ranks=1000, memory=Memory())


def orphans_of(context: Context, **queues: list[QueuedJob]) -> list[str]:
    return [one.describe() for one in find_orphans(context.engine, context.runs_folder, queues)]


def queued(name: str, job_id: str) -> QueuedJob:
    return QueuedJob(
        job_id=job_id, name=name, user="u", partition="p", state="RUNNING", nodes=1, elapsed="1:00", reason="n1"
    )


def test_a_database_as_it_was_left_is_not_taken_for_a_restored_one(here: Context, experiment: Experiment) -> None:
    for _ in range(2):
        create(here, experiment)
        assert bring_up(here.engine, here.runs_folder, Restored()) == []
    assert create(here, experiment)[0] == 3


def test_no_id_is_given_twice_after_an_older_database_was_put_back(
    here: Context, backup: Backup, experiment: Experiment
) -> None:
    """Before: the next experiment got the id of one that was submitted after the backup."""
    create(here, experiment)
    old = backup(here)
    younger, younger_runs = create(here, experiment, size=3)
    with transaction(here.engine) as db:  # not submitted, so in no folder
        unseen, _ = creation.create(db, experiment({"seed": [0, 1]}))
    done = bring_up(old.engine, old.runs_folder, Restored())
    assert "older" in done[0]
    new, new_runs = create(old, experiment)
    assert new > unseen > younger
    assert min(new_runs) > max(younger_runs)
    assert bring_up(old.engine, old.runs_folder, Restored()) == [], "once"


def test_a_younger_run_is_named_and_adopted_with_its_points_and_its_end(
    here: Context, backup: Backup, experiment: Experiment, puppet: Puppet
) -> None:
    create(here, experiment)
    old = backup(here)
    younger, (first, second, third) = create(here, experiment, size=3, name="younger")
    folder = begin(here, first)
    report(here, first, Finished(attempt=1, at=now().timestamp(), ran_s=3.5, step=4))
    begin(here, second)
    keys = [read(here, run_id).key for run_id in (first, second, third)]
    assert bring_up(old.engine, old.runs_folder, Restored())
    settings = Settings(database=str(old.engine.url), runs=old.runs_folder)
    check = check_orphans(settings)
    assert check is not None
    assert (check.grade, keys[0] in check.found) == (Grade.WARNING, True)
    named = orphans_of(old)
    assert [key in line for key, line in zip(sorted(keys), named, strict=True)] == [True] * 3
    found = find_orphans(old.engine, old.runs_folder, {})
    (said,) = adopt_orphans(old, found)
    assert f"adopted as experiment {younger}; no job had begun {third}" in said
    ingest(old)
    cancel(old)
    run = read(old, first)
    assert (run.id, run.key, run.state, run.ran_s) == (first, keys[0], State.DONE, 3.5)
    assert old.folder_of(run) == folder
    assert [read(old, run_id).state for run_id in (second, third)] == [State.RUNNING, State.CANCELLED]
    assert job_of(old, second).external_id == f"bigbatch-{keys[1]}-1@n1:8"
    with snapshot(old.engine) as db:
        assert db.get_one(Stored, younger).name == "younger"
    assert orphans_of(old) == []
    check = check_orphans(settings)
    assert check is not None
    assert check.grade is Grade.OK


def test_another_service_with_the_same_folder_and_account_has_no_orphans_here(
    here: Context, experiment: Experiment, sqlite_engine: object, tmp_path: Path
) -> None:
    create(here, experiment)
    run = read(here, 1)
    name = f"bigbatch-{run.key}-1"
    with transaction(here.engine) as db:
        db.execute(update(Service).values(identity="0badcafe"))
    assert orphans_of(here, slurm=[queued(name, "77"), queued("bigbatch-0123456789ab-1", "78")]) == []
    with transaction(here.engine) as db:
        db.execute(update(Service).values(identity=run.key[:8]))
    assert orphans_of(here, slurm=[queued(name, "77")]) == []


def test_a_job_of_a_later_attempt_is_named_and_can_be_ended(far_context: Context, far: Far, far_run_id: int) -> None:
    name = f"bigbatch-{read(far_context, far_run_id).key}-2"
    found = find_orphans(far_context.engine, far_context.runs_folder, {"slurm": [queued(name, "job9")]})
    assert [one.describe() for one in found] == [
        f"slurm job job9 ({name}) belongs to no attempt of a run in the database"
    ]
    far.jobs["job9"] = far.jobs["job1"]._replace(name=name)
    assert list(cancel_orphans(far_context, found)) == [f"slurm job job9 ({name}) is being ended"]
    assert far.cancelled == [("job9", False)]


def test_a_run_goes_on_with_the_attempt_that_its_folder_has(
    here: Context, backup: Backup, experiment: Experiment, puppet: Puppet
) -> None:
    """Before: the service began attempt 2 again, whose claim another job had, and the run failed."""
    (run_id,) = create(here, experiment)[1]
    begin(here, run_id)
    ingest(here)
    old = backup(here)
    at = now().timestamp()
    report(here, run_id, Paused(attempt=1, at=at, ran_s=2.0, step=3, saved_step=3, reason="SIGTERM on rank 0"))
    ingest(here)
    puppet.answers[str(job_of(here, run_id).external_id)] = gone(EndKind.EXITED, exit_code=4)
    ingest(here)
    submit_queued(here)
    mark(here)
    begin(here, run_id, attempt=2)
    done = bring_up(old.engine, old.runs_folder, Restored())
    assert f"run {run_id} goes on with attempt 2, which is in its folder" in done
    ingest(old)
    run = read(old, run_id)
    assert (run.state, run.attempt, run.step) == (State.RUNNING, 2, 2)
    assert job_of(old, run_id).external_id == f"bigbatch-{run.key}-2@n1:9"
    report(old, run_id, Finished(attempt=2, at=now().timestamp(), ran_s=5.0, step=4))
    ingest(old)
    assert read(old, run_id).state is State.DONE


def test_an_attempt_that_nobody_may_carry_out_is_not_begun_again(
    here: Context, backup: Backup, experiment: Experiment
) -> None:
    (run_id,) = create(here, experiment)[1]
    old = backup(here)
    here.folder_of(read(here, run_id)).claim(2, ABANDONED)
    with transaction(here.engine) as db:
        db.execute(update(Run).values(notes="later"))
        runs.request_stop(db, Run.id == -1)
        service.count_mark(db)
    here.memory.marked_change = -1
    mark(here)
    bring_up(old.engine, old.runs_folder, Restored())
    run = read(old, run_id)
    assert (run.state, run.attempt, run.reason) == (State.QUEUED, 2, FoundInFolder(attempt=2))
    submit_queued(old)
    assert read(old, run_id).attempt == 3


@pytest.mark.parametrize("kind", ["local", "slurm"])
def test_a_run_that_was_live_at_the_backup_goes_on_from_its_restored_folder(
    far_context: Context, far: Far, puppet: Puppet, here: Context, experiment: Experiment, kind: str, tmp_path: Path
) -> None:
    """Before: its job completed in the folder of before, the restored one had no end of it, and the run failed."""
    context = here if kind == "local" else replace(far_context, memory=Memory())
    (run_id,) = create(context, experiment, **({} if kind == "local" else {"resources": SLURM}))[1]
    begun = begin(context, run_id)
    ingest(context)
    begun.write_heartbeat(1)
    at = now().timestamp() + 60
    os.utime(begun.path / "attempts/1.beat", (at, at))
    shutil.copytree(context.runs_folder, tmp_path / "restored")
    done = bring_up(context.engine, tmp_path / "restored", Restored(home=True, folders=True))
    assert done[-1] == f"runs {run_id} were live at the backup: they go on from their checkpoints"
    old = replace(context, memory=Memory())
    submit_queued(old)
    assert read(old, run_id).state is State.QUEUED, "its job of before is there still"
    with transaction(old.engine) as db:
        db.execute(update(Run).values(moved_at=now() - timedelta(minutes=2)))
    cluster = puppet if kind == "local" else far
    reap(old)
    assert ("job1", False) in cluster.cancelled
    cluster.answers["job1"] = gone(EndKind.PROCESS_GONE if kind == "local" else EndKind.COMPLETED)
    poll_now(old)
    reap(old)
    submit_queued(old)
    run = read(old, run_id)
    assert (run.state, run.attempt) == (State.PENDING, 2)
    assert run.ran_s == pytest.approx(60.0, abs=5.0)


def test_runs_that_were_being_submitted_are_submitted_anew(
    here: Context, puppet: Puppet, experiment: Experiment, tmp_path: Path
) -> None:
    puppet.trouble = RuntimeError("the worker dies")
    (run_id,) = create(here, experiment)[1]
    assert read(here, run_id).state is State.SUBMITTING
    bring_up(here.engine, tmp_path / "restored", Restored(home=True, folders=True))
    assert read(here, run_id).state is State.QUEUED
    with snapshot(here.engine) as db:
        assert db.scalars(select(Job.given_up_at)).one() is not None


def test_workflows_are_not_adopted_and_the_reason_is_told(
    here: Context, backup: Backup, experiment: Experiment
) -> None:
    old = backup(here)
    create(here, experiment)
    folder = next((here.runs_folder / ".services").glob("*/experiment-1.json"))
    folder.write_text(folder.read_text().replace('"search":null', '"search":{"samples":1}'))
    (said,) = adopt_orphans(old, find_orphans(old.engine, old.runs_folder, {}))
    assert "cannot be adopted" in said
    folder.unlink()
    (said,) = adopt_orphans(old, find_orphans(old.engine, old.runs_folder, {}))
    assert "no record says of which experiment it is" in said
