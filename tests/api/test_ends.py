"""What is told of a run's end: that its job goes on all the same, and by the database's clock, not this machine's."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.sentences.pending import pending_sentence
from contract.lifecycle.pending_reason import Pending, PendingReason
from contract.lifecycle.reason import StopRequested
from contract.lifecycle.state import State
from store import clock, clusters
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import add_job, current_job


def stopped_run(
    client: TestClient,
    engine: Engine,
    *,
    asked_s: float,
    state: State = State.CANCELLED,
    pending: PendingReason | None = None,
) -> int:
    """Store a run in `state`, whose cluster was asked to end its job so long ago; return its id."""
    run_id = int(post(client, SPEC).json()["runs"][0])
    with transaction(engine) as db:
        run = db.get_one(Run, run_id)
        run.cluster = "slurm"
        asked_at = now() - timedelta(seconds=asked_s)
        add_job(db, run, external_id="77", stop_requested_at=asked_at, pending_reason=pending)
        run.state, run.reason = state, StopRequested() if state is State.CANCELLED else None
    return run_id


def reasons(client: TestClient, run_id: int) -> set[str]:
    """As the run's page and the list of runs have it."""
    page = client.get(f"/api/v1/runs/{run_id}").json()
    (listed,) = client.get(f"/api/v1/experiments/{page['experiment_id']}/runs").json()["items"]
    assert page["stopping"] is listed["stopping"] is False
    return {page["reason"], listed["reason"]}


def test_a_run_that_has_ended_is_not_shown_as_done_with_while_its_job_holds_its_nodes(
    client: TestClient, sqlite_engine: Engine
) -> None:
    """Forces the fault: the run said that it paused as it was stopped, and a rank of it hangs."""
    run_id = stopped_run(client, sqlite_engine, asked_s=61)
    (reason,) = reasons(client, run_id)
    assert reason.startswith("stopped on request; slurm was asked to end the job at ")
    assert reason.endswith(" UTC, and still runs it")
    with transaction(sqlite_engine) as db:
        current_job(db, db.get_one(Run, run_id)).is_gone = True
    assert reasons(client, run_id) == {"stopped on request"}


def test_a_job_has_a_minute_to_end(client: TestClient, sqlite_engine: Engine) -> None:
    assert reasons(client, stopped_run(client, sqlite_engine, asked_s=50)) == {"stopped on request"}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("state", "pending", "shown"),
    [
        (State.PENDING, PendingReason.RESOURCES, True),
        (State.RUNNING, PendingReason.SUSPENDED, True),
        (State.RUNNING, PendingReason.RESOURCES, False),
        (State.PENDING, PendingReason.STARTING, True),
        (State.RUNNING, PendingReason.STARTING, False),
    ],
)
def test_what_holds_a_run_up_is_shown_while_it_does(
    client: TestClient, sqlite_engine: Engine, state: State, pending: PendingReason, *, shown: bool
) -> None:
    """One that runs may be suspended; what it waited for before it ran is not so any more."""
    run_id = stopped_run(client, sqlite_engine, asked_s=0, state=state, pending=pending)
    assert reasons(client, run_id) == {pending_sentence(Pending(pending)) if shown else None}
    if pending is PendingReason.STARTING:
        assert client.get(f"/api/v1/runs/{run_id}").json()["waits_kind"] is None


def test_how_long_ago_something_was_is_told_by_the_database_s_clock(
    client: TestClient, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the clock of the API's host is ten minutes ahead of the database's."""
    monkeypatch.setattr(clock, "_reading", (datetime.now(UTC) - timedelta(minutes=10), time.monotonic()))
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "local", None, None)
    assert client.get("/api/v1/ready").status_code == 200
    assert reasons(client, stopped_run(client, sqlite_engine, asked_s=50)) == {"stopped on request"}
