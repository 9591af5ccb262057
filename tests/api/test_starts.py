"""POST /starts: when a draft's jobs would start, from Slurm, from its newest report or from this machine's queue."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.lifecycle.state import State
from store.session import transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Job, Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import move

SLURM = SPEC.replace("{kind: local, ranks_per_node: 4}", "{kind: slurm, nodes: 2, ranks_per_node: 4, minutes: 30}")
ANSWER = "sbatch: Job 15 to start at 2030-01-02T03:04:05 using 8 processors on nodes n[1-2] in partition gpu"
SBATCH = """#!/bin/sh
echo called >> {calls}
while [ -e {held} ]; do sleep 0.05; done
echo "{answer}" >&2
"""


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An sbatch on PATH that answers as Slurm does, once the file `held` is gone; return the file of its calls."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    (folder / "sbatch").write_text(SBATCH.format(calls=calls, held=tmp_path / "held", answer=ANSWER))
    (folder / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BIGBATCH_SLURM", "true")
    monkeypatch.setenv("BIGBATCH_HOME", str(tmp_path))
    return calls


def starts(client: TestClient, text: str) -> list[dict[str, Any]]:
    answer = client.post("/api/v1/starts", content=text, headers={"content-type": "application/yaml"})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["starts"]
    return found


def write_report(engine: Engine, kind: str, report: dict[str, Any]) -> None:
    with transaction(engine) as db:
        db.add(Cluster(kind=kind, asked_at=now(), report={"partitions": [], "nodes": [], "queue": [], **report}))


@pytest.mark.ring("all")
def test_slurm_is_asked_once_for_drafts_that_ask_for_the_same(client: TestClient, sbatch: Path) -> None:
    (found,) = starts(client, SLURM + "axes: {seed: [0, 1, 2]}\n")
    assert (found["cluster"], found["runs"], found["source"]) == ("slurm", 3, "sbatch")
    at = datetime.fromisoformat(found["starts_at"])
    assert at == datetime(2030, 1, 2, 3, 4, 5).astimezone()
    assert starts(client, SLURM.replace("rate: 8.0", "rate: 4.0"))[0]["starts_at"] == found["starts_at"]
    assert sbatch.read_text().count("called") == 1
    starts(client, SLURM.replace("nodes: 2", "nodes: 4"))
    assert sbatch.read_text().count("called") == 2


@pytest.mark.ring("all")
def test_no_thread_of_the_api_waits_for_slurm(client: TestClient, sbatch: Path, tmp_path: Path) -> None:
    """Forces more requests than the API has threads, while sbatch does not answer."""
    held = tmp_path / "held"
    held.touch()
    with ThreadPoolExecutor(45) as pool:
        waiting = [pool.submit(starts, client, SLURM) for _ in range(45)]
        _until(lambda: sbatch.exists())
        assert client.get("/api/v1/experiments").status_code == 200
        assert not any(one.done() for one in waiting)
        held.unlink()
        assert {one.result()[0]["source"] for one in waiting} == {"sbatch"}
    assert sbatch.read_text().count("called") == 1


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.ring("all")
def test_a_host_without_slurm_answers_from_the_newest_report(
    client: TestClient, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGBATCH_SLURM", "false")
    (found,) = starts(client, SLURM)
    assert (found["source"], found["starts_at"]) == ("report", None)
    partition = {
        **{"name": "gpu", "is_default": True, "state": "up", "nodes": 4, "cpus": 16, "gres": ""},
        **{"idle_nodes": 2, "time_limit": "1:00:00"},
    }
    write_report(sqlite_engine, "slurm", {"partitions": [partition]})
    (found,) = starts(client, SLURM)
    assert found["starts_at"] is not None
    assert found["text"] == "by the newest report 2 nodes are idle in gpu, 0 jobs wait there"
    assert starts(client, SLURM.replace("nodes: 2", "nodes: 4"))[0]["starts_at"] is None


def test_a_run_of_this_machine_starts_when_its_ranks_are_free(client: TestClient, sqlite_engine: Engine) -> None:
    assert starts(client, SPEC)[0]["text"] == "the scheduler has not reported this machine yet"
    write_report(sqlite_engine, "local", {"ranks": 4})
    (found,) = starts(client, SPEC)
    assert found["text"] == "its ranks are free now"
    assert abs(datetime.fromisoformat(found["starts_at"]) - datetime.now(UTC)) < timedelta(minutes=1)
    run_id = post(client, SPEC).json()["runs"][0]
    with transaction(sqlite_engine) as db:
        for state in (State.SUBMITTING, State.PENDING, State.RUNNING):
            move(db, db.get_one(Run, run_id), state)
    (found,) = starts(client, SPEC)
    assert (found["starts_at"], "has 4" in found["text"]) == (None, True), found
    hour = now() - timedelta(hours=1)
    with transaction(sqlite_engine) as db:  # half of its steps in an hour: it ends in another hour
        run = db.get_one(Run, run_id)
        db.execute(update(Run).where(Run.id == run_id).values(step=run.steps // 2))
        db.execute(update(Job).where(Job.run_id == run_id).values(started_at=hour))
    at = datetime.fromisoformat(starts(client, SPEC)[0]["starts_at"])
    assert timedelta(minutes=50) < at - datetime.now(UTC) < timedelta(minutes=70)


def test_a_wrong_spec_has_no_starts(client: TestClient) -> None:
    answer = client.post("/api/v1/starts", content="name: x", headers={"content-type": "application/yaml"})
    assert answer.status_code == 422
