"""Runs by REST: how many ranks train together."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from api.render import COPIED_FIELDS
from contract.folder.events import Points
from contract.metric_names import HELDOUT_ACCURACY, LOSS, name_of_rank
from store.lists.run_list import ListedRun
from store.metrics import points
from store.metrics.retention import remove_points, remove_waits
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import SPEC, post

LOCAL = "{kind: local, ranks_per_node: 4}"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("resources", "world"),
    [
        (LOCAL, 4),
        ("{kind: slurm, nodes: 2, ranks_per_node: 2}", 4),
        ("{kind: slurm, nodes: 2, many_core: {cpus: 8, parts: 4}}", 8),
        ("{kind: slurm, nodes: 2, many_core: {cpus: 8, parts: 4, chips: 2}}", 16),
    ],
)
def test_the_world_of_a_run_counts_the_ranks_of_all_nodes(client: TestClient, resources: str, world: int) -> None:
    assert post(client, SPEC.replace(LOCAL, resources)).status_code == 201
    assert client.get("/api/v1/runs/1").json()["world"] == world
    assert client.get("/api/v1/runs").json()["items"][0]["world"] == world
    assert client.get("/api/v1/experiments/1/runs").json()["items"][0]["world"] == world


def test_a_list_reads_every_column_that_a_view_copies() -> None:
    assert set(ListedRun._fields) >= COPIED_FIELDS


def test_a_run_names_what_was_removed_of_it_and_its_objective_value(client: TestClient, sqlite_engine: Engine) -> None:
    assert post(client, SPEC).status_code == 201
    before = client.get("/api/v1/runs/1").json()
    assert (before["points_removed_at"], before["history_removed_at"], before["objective_value"]) == (None, None, None)
    with transaction(sqlite_engine) as db:
        accuracy = Points(attempt=1, at=0.0, step=1, values={HELDOUT_ACCURACY: 0.7})
        points.put(db, 1, [accuracy])
        old = update(Run).where(Run.id == 1).values(ended_at=now() - timedelta(days=2))
        db.execute(old)
        while remove_points(db, now() - timedelta(days=1), limit=10):
            pass
        remove_waits(db, now() - timedelta(days=1))
    after = client.get("/api/v1/runs/1").json()
    assert after["points_removed_at"]
    assert after["history_removed_at"]
    assert (after["objective_value"], after["series"], after["moves"]) == (0.7, [], [])
    assert client.get("/api/v1/runs/1/points").json() == {"series": {}, "more": False}
    assert client.get("/api/v1/experiments/1").json()["best"] == {"value": 0.7, "run": 1}


def test_without_names_the_series_that_are_read_first_come(client: TestClient, sqlite_engine: Engine) -> None:
    """A run of 60 series shows at most 50 of them, and its loss is one of these."""
    assert post(client, SPEC).status_code == 201
    own = {f"a_{number:02}": 0.5 for number in range(40)}
    of_ranks = {name_of_rank(f"a_{number:02}", 1): 0.5 for number in range(20)}
    with transaction(sqlite_engine) as db:
        values = {LOSS: 0.1, HELDOUT_ACCURACY: 0.7, **own, **of_ranks}
        points.put(db, 1, [Points(attempt=1, at=0.0, step=1, values=values)])
    for path in ("points", "curves"):
        shown = client.get(f"/api/v1/runs/1/{path}").json()["series"]
        assert len(shown) == 50
        assert shown.keys() >= {LOSS, HELDOUT_ACCURACY, *own}
        others = [name for name in client.get("/api/v1/runs/1").json()["series"] if name not in shown]
        answer = client.get(f"/api/v1/runs/1/{path}", params={"name": others}).json()["series"]
        assert answer.keys() | shown.keys() == values.keys()
