"""Runs by REST: how many ranks train together."""

import pytest
from fastapi.testclient import TestClient

from api.render import COPIED_FIELDS
from store.lists.run_list import ListedRun
from tests.testing.api import SPEC, post

LOCAL = "{kind: local, ranks_per_node: 4}"


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
