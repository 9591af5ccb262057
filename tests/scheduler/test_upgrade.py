"""A database of the version before the first migration: no history is lost, and every live run ends."""

import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from sqlalchemy import update

from api.app import create_app
from contract.folder.events import Finished
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import LIVE, State
from contract.settings import Settings
from migrations.commands import upgrade
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from scheduler.ticks.recover import recover
from store import runs
from store.metrics.packing import unpack_tail
from store.session import engine_for, snapshot, transaction
from store.tables.runs import Run
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.clusters import Far, Puppet, sizes
from tests.testing.data.recorded_database import RecordedDatabase, create_recorded_database
from tests.testing.events import STARTED, report
from tests.testing.runs import ended_attempts, job_of, poll_now, read

# by the experiment's name; the runs of all other experiments are done in the end
OTHER_ENDS = {
    "cancelled while queued": State.CANCELLED,
    "cancelled while running": State.CANCELLED,
    "failed": State.FAILED,
    "gone": State.FAILED,
    "refused": State.FAILED,
    "stopping": State.CANCELLED,
}
# the runs of these experiments get another attempt after the upgrade
TRIED_AGAIN = {
    "failed once and paused",
    "gone by an unknown sentence",
    "paused",
    "queued",
    "queued again after a node failed",
    "queued again after a submission was lost",
    "submitting, not sent",
}


@pytest.fixture
def old(empty_database: str, tmp_path: Path) -> Iterator[RecordedDatabase]:
    recorded = create_recorded_database(empty_database, tmp_path / "runs")
    upgrade(empty_database)
    yield recorded
    engine_for(empty_database).dispose()


@pytest.fixture
def context(old: RecordedDatabase, far: Far, puppet: Puppet) -> Context:
    return Context(engine_for(old.url), {"slurm": far, "local": puppet}, old.runs_folder, local_ranks=8)


@pytest.fixture
def client(old: RecordedDatabase) -> Iterator[TestClient]:
    settings = Settings(home=old.runs_folder.parent, database=old.url, token=TOKEN)
    with TestClient(create_app(settings), headers=WITH_TOKEN) as client:
        yield client


@pytest.mark.ring("gate", others="all")
def test_every_live_run_ends_after_upgrade(old: RecordedDatabase, context: Context, far: Far) -> None:
    list_old_jobs(old, context, far)
    for _ in range(4):
        run_ticks(context, far)
    for row in old.rows["runs"]:
        name, run = old.names()[row["id"]], read(context, row["id"])
        assert (name, run.state) == (name, OTHER_ENDS.get(name, State.DONE))
        assert (name, run.attempt) == (name, row["attempt"] + (name in TRIED_AGAIN))
        numbers = [job.attempt for job in ended_attempts(context, run.id)]
        assert {job["attempt"] for job in old.of_run("jobs", run.id) if "ended_at" in job} <= set(numbers)


@pytest.mark.ring("all")
def test_the_job_of_an_ended_run_is_reaped(old: RecordedDatabase, context: Context, far: Far) -> None:
    list_old_jobs(old, context, far)
    (run_id,) = (run_id for run_id, name in old.names().items() if name == "done and not gone")
    assert not job_of(context, run_id).is_gone
    reap(context)
    assert ("job9", False) in far.cancelled
    far.answers["job9"] = gone(EndKind.CANCELLED)
    poll_now(context)
    reap(context)
    assert job_of(context, run_id).is_gone


@pytest.mark.ring("all")
def test_no_run_is_submitted_twice(old: RecordedDatabase, context: Context, far: Far) -> None:
    """The cluster has a job of one submitting run already; the others are submitted once."""
    list_old_jobs(old, context, far)
    for _ in range(3):
        run_ticks(context, far)
    names = [job.name for job in far.jobs.values()]
    assert len(names) == len(set(names))
    new_attempts = [name for name in old.names().values() if name in TRIED_AGAIN]
    assert sum(sizes(far)[len(old.jobs["slurm"]) :]) == len(new_attempts)


@pytest.mark.ring("all")
def test_the_api_shows_the_same_history(old: RecordedDatabase, client: TestClient) -> None:
    for row in old.rows["runs"]:
        run = client.get(f"/api/v1/runs/{row['id']}").json()
        assert [(move.get("old"), move["new"], moment(move["at"])) for move in run["moves"]] == [
            (move.get("old"), move["new"], move["at"]) for move in old.of_run("moves", row["id"])
        ]
        ended = [job for job in old.of_run("jobs", row["id"]) if "ended_at" in job]
        assert [(one["number"], one["job_id"], one["cause"], moment(one["ended_at"])) for one in run["attempts"]] == [
            (job["attempt"], job.get("external_id"), job.get("exit_cause"), job["ended_at"]) for job in ended
        ]
        assert [(one["attempt"], one["step"], one["lost_steps"]) for one in run["restarts"]] == [
            (one["attempt"], one["step"], one["lost_steps"]) for one in old.of_run("restarts", row["id"])
        ]
        shown = [run[name] for name in ("state", "attempt", "step", "latest")]
        assert shown == [row[name] for name in ("state", "attempt", "step", "latest")]
        points = client.get(f"/api/v1/runs/{row['id']}/points").json()["series"]
        stored = {one["name"]: unpack_tail(one["tail"]).steps.tolist() for one in old.of_run("series", row["id"])}
        assert {name: column["steps"] for name, column in points.items()} == stored


@pytest.mark.ring("all")
def test_the_api_shows_the_same_reasons(old: RecordedDatabase, client: TestClient) -> None:
    shown = {old.names()[run["id"]]: run for run in client.get("/api/v1/runs").json()["items"]}
    assert shown["pending"]["reason"] == "jobs of a higher priority come first (Priority)"
    assert shown["suspended"]["reason"] == "the job is suspended and keeps its nodes (SUSPENDED)"
    assert [shown[name]["waits_kind"] for name in ("pending", "suspended")] == ["resources", "held"]
    assert shown["paused"]["reason"] == "paused at step 2: SIGTERM on rank 0"
    assert shown["submitting, accepted"]["reason"] == (
        "Socket timed out on send/recv operation; the service is finding out whether the cluster has the job"
    )
    for name in ("cancelled while running", "refused", "failed", "queued again after a node failed"):
        (row,) = (row for row in old.rows["runs"] if old.names()[row["id"]] == name)
        assert shown[name]["reason"] == row["reason"]["text"]


@pytest.mark.ring("all")
def test_unset_values_are_null_in_sql(old: RecordedDatabase) -> None:
    """A JSON null would count as a stored end: "the job has ended" for every live job."""
    with engine_for(old.url).connect() as connection:
        for table, column in (
            ("jobs", "observed_end"),
            ("jobs", "exit_reason"),
            ("moves", "reason"),
            ("runs", "reason"),
        ):
            cast = sa.text(f"SELECT count(*) FROM {table} WHERE CAST({column} AS VARCHAR) = 'null'")
            assert connection.scalar(cast) == 0


def list_old_jobs(old: RecordedDatabase, context: Context, far: Far) -> None:
    """Let the cluster have the jobs that it had."""
    run_id = min(old.names())
    request = context.request_of(read(context, run_id), job_of(context, run_id))
    far.jobs.update({job_id: request._replace(name=name) for job_id, name in old.jobs["slurm"].items()})


def run_ticks(context: Context, far: Far) -> None:
    """Run every tick once, and end the jobs of live runs before the poll."""
    with transaction(context.engine) as db:
        db.execute(update(Run).values(not_before=None))
    recover(context)
    submit_queued(context, math.inf)
    cancel(context)
    with snapshot(context.engine) as db:
        live = runs.in_state(db, *LIVE)
    for run in live:
        end_job(context, far, run)
    poll_now(context)
    ingest(context)


def end_job(context: Context, far: Far, run: Run) -> None:
    """Report the last step of a run; for a run that was asked to stop, or has paused, end its job instead."""
    job_id = str(job_of(context, run.id).external_id)
    if run.stop_requested_at:
        far.answers[job_id] = gone(EndKind.CANCELLED)
    elif run.state is State.PAUSED:
        far.answers[job_id] = gone(EndKind.FAILED, "NonZeroExitCode")
    elif job_of(context, run.id).observed_end is None:
        started = STARTED.model_copy(update={"attempt": run.attempt})
        report(context, run.id, started, Finished(attempt=run.attempt, at=1.0, step=run.steps))


def moment(text: str) -> datetime:
    """Return a moment of the API."""
    return datetime.fromisoformat(text)
