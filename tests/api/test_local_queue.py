"""The page of a queued run of this machine shows what has its ranks, which runs come first, and when it starts."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.sentences.local_queue import estimate_start_s
from contract.api.cluster_report import ClusterReport
from contract.lifecycle.state import State
from store import clusters
from store.lists.local_queue import LocalQueue, QueuedRun
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import TO_RUNNING, current_job, move

UNKNOWN = "when it starts is not known before the runs ahead of it have trained some steps"


def test_a_queued_run_names_the_runs_that_have_its_ranks_and_when_it_starts(both: TestClient, engine: Engine) -> None:
    for _ in range(2):
        assert post(both, SPEC).status_code == 201
    with transaction(engine) as db:
        clusters.store_report(db, "local", ClusterReport(partitions=[], nodes=[], queue=[], ranks=4), None)
        for state in TO_RUNNING:
            move(db, db.get_one(Run, 1), state)
    held = "waits: needs 4 of this machine's 4 ranks; run 1 has 4"
    assert reason_of(both, 2) == f"{held}; {UNKNOWN}"
    assert reason_of(both, 3) == f"{held}; run 2 comes first; {UNKNOWN}"
    with transaction(engine) as db:
        run = db.get_one(Run, 1)
        run.step = run.steps // 2
        current_job(db, run).started_at = now() - timedelta(seconds=1000)
    minutes = round(1000 / 60)
    assert reason_of(both, 2) in {f"{held}; it starts in about {minutes + late} min" for late in range(3)}
    waits = reason_of(both, 3)
    assert waits is not None
    assert waits.startswith(f"{held}; run 2 comes first; run 1 ends in about ")
    assert waits.endswith(UNKNOWN)
    with transaction(engine) as db:
        move(db, db.get_one(Run, 1), State.DONE)
    assert reason_of(both, 2) is None


def reason_of(client: TestClient, run_id: int) -> str | None:
    reason: str | None = client.get(f"/api/v1/runs/{run_id}").json()["reason"]
    return reason


def run(number: int, world: int, left: int, experiment: int = 1) -> QueuedRun:
    return QueuedRun(number, experiment, world, steps=left, step=0)


@pytest.mark.parametrize(
    ("live", "ahead", "world", "start_s"),
    [
        ([run(1, 4, 10)], [], 4, 20.0),
        ([run(1, 2, 10), run(2, 2, 30)], [], 2, 20.0),
        ([run(1, 2, 10), run(2, 2, 30)], [], 4, 60.0),
        ([run(1, 4, 10)], [run(2, 4, 5), run(3, 4, 5)], 4, 40.0),
        ([run(1, 4, 10)], [run(2, 2, 5), run(3, 2, 20)], 2, 30.0),
        ([run(1, 3, 10)], [run(2, 4, 5)], 1, 30.0),  # no younger run overtakes, although one rank is free
        ([run(1, 2, 10)], [], 8, 20.0),  # more ranks than the machine has: alone
        ([run(1, 4, 0)], [], 4, None),  # the number of steps is unknown
        ([run(1, 4, 10, experiment=2)], [], 4, None),  # its experiment has no pace yet
    ],
)
def test_the_start_follows_from_the_pace_of_the_runs_ahead(
    live: list[QueuedRun], ahead: list[QueuedRun], world: int, start_s: float | None
) -> None:
    assert estimate_start_s(LocalQueue(live, ahead, {1: 2.0}), world, 4) == start_s
