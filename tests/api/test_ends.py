"""What is told of a run's end: that its job goes on all the same, and by the database's clock, not this machine's."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from store import clock, clusters
from store.session import transaction
from store.tables import Run, now
from tests.api.conftest import SPEC, post


def ended(client: TestClient, engine: Engine, *, told_s: float, **columns: object) -> int:
    """A run that has ended, whose job its cluster was told to end so long ago."""
    run_id = int(post(client, SPEC).json()["runs"][0])
    state = {"state": "cancelled", "reason": "stopped on request", "job_id": "77", "cluster": "slurm"}
    with transaction(engine) as db:
        run = db.get_one(Run, run_id)
        for name, value in {**state, "stop_asked_at": now() - timedelta(seconds=told_s), **columns}.items():
            setattr(run, name, value)
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
    run_id = ended(client, sqlite_engine, told_s=61)
    (reason,) = reasons(client, run_id)
    assert reason.startswith("stopped on request; slurm was told to end its job at ")
    assert reason.endswith(" UTC, and still has it")
    with transaction(sqlite_engine) as db:
        db.get_one(Run, run_id).job_gone = True
    assert reasons(client, run_id) == {"stopped on request"}


def test_a_job_has_a_minute_to_end(client: TestClient, sqlite_engine: Engine) -> None:
    assert reasons(client, ended(client, sqlite_engine, told_s=50)) == {"stopped on request"}


@pytest.mark.parametrize(
    ("state", "kind", "shown"),
    [("pending", "resources", True), ("running", "held", True), ("running", "resources", False)],
)
def test_what_holds_a_run_up_is_shown_while_it_does(
    client: TestClient, sqlite_engine: Engine, state: str, kind: str, *, shown: bool
) -> None:
    """One that runs may be suspended; what it waited for before it ran is not so any more."""
    why = {"state": state, "reason": None, "waits_for": "it waits", "waits_kind": kind}
    run_id = ended(client, sqlite_engine, told_s=0, **why)
    assert reasons(client, run_id) == {"it waits" if shown else None}


def test_how_long_ago_something_was_is_told_by_the_database_s_clock(
    client: TestClient, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the clock of the API's host is ten minutes ahead of the database's."""
    monkeypatch.setattr(clock, "_told", (datetime.now(UTC) - timedelta(minutes=10), time.monotonic()))
    with transaction(sqlite_engine) as db:
        clusters.put(db, "local", None, None)
    assert client.get("/api/v1/ready").status_code == 200
    assert reasons(client, ended(client, sqlite_engine, told_s=50)) == {"stopped on request"}
