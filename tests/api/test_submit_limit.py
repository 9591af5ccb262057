"""The page of a queued run shows what limits its queue."""

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.lifecycle.reason import SubmissionDeferred
from store.session import transaction
from store.tables.base import now
from store.tables.clusters import SubmitLimit
from store.tables.runs import Run
from tests.testing.api import SPEC, post

SLURM = SPEC.replace("{kind: local, ranks_per_node: 4}", "{kind: slurm, partition: gpu, qos: short}")
WORD = "QOSMaxSubmitJobPerUserLimit"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"accepted": 5, "refused": 6}, f"waits: slurm admits at most 5 jobs of this service at a time: {WORD}"),
        ({"accepted": 5, "refused": 9}, f"waits: slurm admits 5 to 8 jobs of this service at a time: {WORD}"),
        ({"accepted": 0, "refused": 150}, f"waits: slurm admits at most 149 jobs of this service at a time: {WORD}"),
        ({"accepted": 0, "refused": 2}, f"waits: slurm admits at most 1 job of this service at a time: {WORD}"),
        ({"accepted": 0, "refused": 1}, f"waits: slurm admits no further job of this service at a time: {WORD}"),
        ({"accepted": 7}, "the refusal of a moment ago"),
        ({"held_until": True}, f"waits: slurm accepts no jobs for now: {WORD}"),
    ],
)
def test_a_queued_run_names_the_limit_of_its_queue(
    client: TestClient, sqlite_engine: Engine, columns: dict[str, Any], reason: str
) -> None:
    assert post(client, SLURM).status_code == 201
    if columns.get("held_until"):
        columns = columns | {"held_until": now() + timedelta(minutes=1)}
    with transaction(sqlite_engine) as db:
        db.get_one(Run, 1).reason = SubmissionDeferred(message="the refusal of a moment ago")
        db.add(SubmitLimit(cluster="slurm", queue="gpu//short", message=WORD, **columns))
        db.add(SubmitLimit(cluster="slurm", queue="gpu//long", message="another queue", accepted=1, refused=2))
    assert client.get("/api/v1/runs/1").json()["reason"] == reason
