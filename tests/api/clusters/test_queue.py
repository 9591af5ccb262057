"""The queue of a cluster's report: reasons as sentences, and the places of this service's own pending jobs."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport, QueuedJob
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.state import State
from store import clusters
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import current_job, move


def job(job_id: str, priority: int | None, name: str = "train", **fields: Any) -> QueuedJob:
    waits = {"state": "PENDING", "reason": "Priority", "pending_reason": PendingReason.PRIORITY}
    common = {"user": "ada", "partition": "gpu", "nodes": 1, "elapsed": "0:00"}
    return QueuedJob.model_validate({"job_id": job_id, "name": name, "priority": priority, **common, **waits, **fields})


@pytest.fixture
def own(both: TestClient, engine: Engine) -> str:
    """Return the name of a job of this service."""
    post(both, SPEC)
    with transaction(engine) as db:
        run = db.get_one(Run, 1)
        move(db, run, State.SUBMITTING)
        return current_job(db, run).name


def shown(client: TestClient, engine: Engine, queue: list[QueuedJob]) -> dict[str, dict[str, Any]]:
    with transaction(engine) as db:
        clusters.store_report(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=queue), None)
    (view,) = client.get("/api/v1/clusters").json()
    return {found["job_id"]: found for found in view["report"]["queue"]}


def test_a_job_of_this_service_has_its_place_by_priority(both: TestClient, engine: Engine, own: str) -> None:
    queue = [
        job("1", 10),
        job("2", 500),
        job("3", 100, own),
        job("4", 100),  # as important, but later
        job("5", 900, partition="cpu"),
        job("6", 0),  # on hold
        job("7", 300, state="RUNNING", reason="n1", pending_reason=None),
    ]
    found = shown(both, engine, queue)
    assert found["3"]["place"] == {"partition": "gpu", "place": 2, "pending": 4}
    assert [job_id for job_id, one in found.items() if one["place"]] == ["3"]


def test_each_waiting_task_of_an_array_counts_in_the_queue(both: TestClient, engine: Engine, own: str) -> None:
    queue = [job("1_[0-9]", 900, tasks=10), job("2", 10, own), job("3_[0-3]", 5, tasks=4)]
    assert shown(both, engine, queue)["2"]["place"] == {"partition": "gpu", "place": 11, "pending": 15}


def test_a_job_of_several_partitions_has_its_best_place(both: TestClient, engine: Engine, own: str) -> None:
    queue = [job("1", 900), job("2", 800), job("3", 10, own, partition="gpu,cpu"), job("4", 20, partition="cpu")]
    assert shown(both, engine, queue)["3"]["place"] == {"partition": "cpu", "place": 2, "pending": 2}


@pytest.mark.parametrize("priority", [0, None], ids=["on hold", "a report without priorities"])
def test_a_job_that_is_in_no_order_has_no_place(
    both: TestClient, engine: Engine, own: str, priority: int | None
) -> None:
    assert shown(both, engine, [job("3", priority, own), job("4", 7)])["3"]["place"] is None


def test_the_reason_of_a_pending_job_is_a_sentence(both: TestClient, engine: Engine) -> None:
    running = job("2", 1, state="RUNNING", reason="n[1-2]", pending_reason=None)
    before = job("3", None, pending_reason=None)  # a report of an earlier version
    found = shown(both, engine, [job("1", 1), running, before])
    assert found["1"]["sentence"] == "jobs of a higher priority come first (Priority)"
    assert (found["2"]["sentence"], found["3"]["sentence"]) == (None, None)
