"""Tests of health, readiness and cluster reports."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from api.__main__ import _is_of_this_version
from api.app import create_app
from contract.api.cluster_report import ClusterReport, QueuedJob
from contract.lifecycle.state import State
from contract.refusal import REFUSED
from contract.settings import Settings
from store import clusters, ticks
from store.session import engine_for, transaction
from store.tables.base import Table
from store.tables.clusters import Cluster
from store.tables.runs import Run
from store.tables.service import Tick
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post
from tests.testing.databases import drop_database, new_database
from tests.testing.servers import free_port
from tests.testing.stored_runs import current_job, move


def test_alive_is_not_ready(client: TestClient) -> None:
    assert client.get("/api/v1/health").json()["ok"] is True
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, answer.json()["scheduler"]) == (503, "has not reported yet")


def test_ready_is_a_database_and_a_scheduler_seen_lately(client: TestClient, sqlite_engine: Engine) -> None:
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "slurm", None, "squeue gave no answer within 20 s")
    assert client.get("/api/v1/ready").status_code == 200
    (view,) = client.get("/api/v1/clusters").json()
    assert (view["kind"], view["error"], view["report"]) == ("slurm", "squeue gave no answer within 20 s", None)


def test_a_cluster_whose_answers_cannot_be_read_is_named(client: TestClient, sqlite_engine: Engine) -> None:
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "local", None, None)
        clusters.store_report(db, "slurm", None, f"{clusters.UNREADABLE}: sinfo and squeue print no report")
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, answer.json()["scheduler"]) == (503, "slurm: its answer cannot be read")


def test_a_tick_that_has_not_succeeded_lately_is_named(client: TestClient, sqlite_engine: Engine) -> None:
    """Forces the fault: the ingest tick hangs, and the cluster reports go on."""
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "local", None, None)
        ticks.begin(db, {"ingest": 1.0, "launch": 0.5})
    assert client.get("/api/v1/ready").status_code == 200
    with transaction(sqlite_engine) as db:
        db.get_one(Tick, "ingest").succeeded_at -= timedelta(seconds=300)
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, answer.json()["ready"], answer.json()["database"]) == (503, False, "ok")
    assert answer.json()["scheduler"].startswith("the tick ingest last succeeded 30")
    assert "launch" not in answer.json()["scheduler"]


def test_a_report_that_is_late_is_named(client: TestClient, sqlite_engine: Engine) -> None:
    """Forces the fault: no call is free for the report of one cluster, and the other cluster's reports go on."""
    with transaction(sqlite_engine) as db:
        for kind in ("local", "slurm"):
            clusters.store_report(db, kind, None, None)
        db.get_one(Cluster, "slurm").asked_at -= clusters.LATE_AFTER - timedelta(seconds=60)
    assert client.get("/api/v1/ready").status_code == 200
    with transaction(sqlite_engine) as db:
        db.get_one(Cluster, "slurm").asked_at -= timedelta(seconds=120)
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, answer.json()["database"]) == (503, "ok")
    assert answer.json()["scheduler"].startswith("the report of slurm is 24")


def test_an_answer_that_fails_keeps_the_report_before_it(client: TestClient, sqlite_engine: Engine) -> None:
    for report, error in [(ClusterReport(partitions=[], nodes=[], queue=[]), None), (None, "down")]:
        with transaction(sqlite_engine) as db:
            clusters.store_report(db, "slurm", report, error)
    (view,) = client.get("/api/v1/clusters").json()
    assert view["error"] == "down"
    assert view["report"] is not None


def test_the_jobs_of_a_queue_name_their_runs_and_are_told_from_jobs_of_others(both: TestClient, engine: Engine) -> None:
    for _ in range(2):
        assert post(both, SPEC).status_code == 201
    with transaction(engine) as db:
        for run_id in (1, 2, 3):
            move(db, db.get_one(Run, run_id), State.SUBMITTING)
        names = [current_job(db, db.get_one(Run, run_id)).name for run_id in (1, 2)]
        for run_id in (2, 3):  # an array of two runs
            current_job(db, db.get_one(Run, run_id)).name = names[1]
        queue = [queued_job(name) for name in (*names, "bigbatch-of-another-service-1", "train")]
        clusters.store_report(db, "local", ClusterReport(partitions=[], nodes=[], queue=queue), None)
    (view,) = both.get("/api/v1/clusters").json()
    shown = [(job["is_own"], job["run_id"]) for job in view["report"]["queue"]]
    assert shown == [(True, 1), (True, None), (False, None), (False, None)]


def test_a_task_of_an_array_leads_to_its_run_and_a_shared_job_to_none(both: TestClient, engine: Engine) -> None:
    for _ in range(3):
        post(both, SPEC)
    with transaction(engine) as db:
        for run_id in (1, 2, 3, 4):
            move(db, db.get_one(Run, run_id), State.SUBMITTING)
            job = current_job(db, db.get_one(Run, run_id))
            job.name, job.external_id = "bigbatch-cafe-1", f"9_{min(run_id, 3)}"  # runs 3 and 4 share a job
        queue = [queued_job("bigbatch-cafe-1", job_id) for job_id in ("9_1", "9_2", "9_3", "9_[5-8]")]
        clusters.store_report(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=queue), None)
    (view,) = both.get("/api/v1/clusters").json()
    shown = [(job["is_own"], job["run_id"]) for job in view["report"]["queue"]]
    assert shown == [(True, 1), (True, 2), (True, None), (True, None)]


def queued_job(name: str, job_id: str = "7") -> QueuedJob:
    common = {"user": "ada", "partition": "gpu", "state": "RUNNING", "nodes": 1, "elapsed": "0:10", "reason": "n1"}
    return QueuedJob.model_validate({"job_id": job_id, "name": name, **common})


def test_a_database_without_tables_is_not_ready(client: TestClient, sqlite_engine: Engine) -> None:
    """Forces the fault: the tables are dropped under the running API."""
    Table.metadata.drop_all(sqlite_engine)
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert "no such table" in answer.json()["database"]
    assert client.get("/api/v1/experiments").json()["code"] == "database_unavailable"


AWAY = "postgresql://ada:5ecret@127.0.0.1:1/x"


def asked(settings: Settings, path: str, headers: dict[str, str]) -> Any:
    app = create_app(settings)
    with TestClient(app, base_url="http://localhost", headers=headers, raise_server_exceptions=False) as client:
        return client.get(path)


def test_without_a_token_readiness_says_which_part_is_missing_and_no_more(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database=AWAY, token=TOKEN)
    answer = asked(settings, "/api/v1/ready", {})
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert (answer.json()["database"], answer.json()["scheduler"]) == ("does not work", "has not been seen")
    for part in ("ada", "5ecret", "127.0.0.1"):
        assert part not in answer.text
    known = asked(settings, "/api/v1/ready", WITH_TOKEN)
    assert "127.0.0.1" in known.json()["database"]
    assert "5ecret" not in known.text


def test_without_a_token_no_name_of_a_tick_or_a_cluster_is_told(settings: Settings, sqlite_engine: Engine) -> None:
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "slurm", None, f"{clusters.UNREADABLE}: sinfo and squeue print no report")
    answer = asked(settings, "/api/v1/ready", {})
    assert (answer.json()["database"], answer.json()["scheduler"]) == ("ok", "does not work")


@pytest.fixture
def read_only(postgres_template: str, tmp_path: Path) -> Iterator[Settings]:
    """A service on a PostgreSQL database that takes no changes."""
    url = new_database(postgres_template, "read_only_service", template=postgres_template)
    with transaction(engine_for(url)) as db:
        clusters.store_report(db, "local", None, None)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter database read_only_service set default_transaction_read_only = on")
    engine_for(url).dispose()
    yield Settings(home=tmp_path, database=url, token=TOKEN)
    engine_for(url).dispose()
    drop_database(url)


@pytest.mark.postgres
def test_a_read_only_database_is_not_ready_and_a_change_is_refused_with_the_reason(read_only: Settings) -> None:
    ready = asked(read_only, "/api/v1/ready", WITH_TOKEN)
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert ready.json()["database"].startswith("the database is read-only")
    app = create_app(read_only)
    with TestClient(app, base_url="http://localhost", headers=WITH_TOKEN, raise_server_exceptions=False) as client:
        refused = post(client, SPEC)
        assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
        assert refused.json()["detail"].startswith("the database is read-only")
        assert client.get("/api/v1/experiments").status_code == 200


def test_a_database_of_another_version_is_not_ready(client: TestClient, sqlite_engine: Engine) -> None:
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "local", None, None)
    assert client.get("/api/v1/ready").status_code == 200
    for revision, told in (("0040", "is of an older version"), ("9999", "is of a newer version")):
        with sqlite_engine.begin() as connection:
            connection.execute(text("update alembic_version set version_num = :at"), {"at": revision})
        answer = client.get("/api/v1/ready")
        assert answer.status_code == 503
        assert told in answer.json()["database"]


def test_a_database_of_a_newer_version_that_was_away_at_the_start_is_not_served(
    settings: Settings, sqlite_engine: Engine
) -> None:
    app = create_app(settings)
    app.state.is_database_checked = False  # as `python -m api` leaves it when the database does not answer
    with sqlite_engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with TestClient(app, base_url="http://localhost", headers=WITH_TOKEN, raise_server_exceptions=False) as client:
        answer = client.get("/api/v1/experiments")
        assert (answer.status_code, answer.json()["code"]) == (503, "database_of_unknown_version")
        assert "revision 9999" in answer.json()["detail"]
        assert "is of a newer version" in client.get("/api/v1/ready").json()["database"]
        with sqlite_engine.begin() as connection:
            connection.execute(text("update alembic_version set version_num = '0041'"))
        assert client.get("/api/v1/experiments").status_code == 200


def test_the_api_says_why_it_cannot_read_the_version_of_its_database(
    sqlite_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: the database answers and reading its version fails; the log said None."""
    with sqlite_engine.begin() as connection:
        connection.execute(text("alter table alembic_version rename column version_num to other"))
    assert not _is_of_this_version(str(sqlite_engine.url))
    assert capsys.readouterr().err.endswith(" cannot be read: no such column: version_num\n")


def test_the_api_does_not_start_beyond_loopback_without_a_token(tmp_path: Path) -> None:
    environment = {**os.environ, "BIGBATCH_HOME": str(tmp_path)} | {"BIGBATCH_TOKEN": ""}
    command = [sys.executable, "-m", "api", "--host", "0.0.0.0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1][:23]) == (REFUSED, "0.0.0.0 is not loopback")


def test_the_api_does_not_start_on_a_database_of_a_newer_version(sqlite_engine: Engine, tmp_path: Path) -> None:
    with sqlite_engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    environment = {**os.environ, "BIGBATCH_HOME": str(tmp_path), "BIGBATCH_DATABASE": str(sqlite_engine.url)}
    command = [sys.executable, "-m", "api", "--port", str(free_port())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == REFUSED
    assert done.stderr.startswith("the database is of a newer version of Bigbatch: its tables have revision 9999")
    assert "Traceback" not in done.stderr
