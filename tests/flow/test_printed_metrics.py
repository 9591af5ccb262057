"""A million printed lines on a real Slurm and on this machine: the service has each step once, with its value."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.testing.printing import faults_of, printing, stored_points
from tests.testing.service import Service

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis, pytest.mark.long]
STEPS = 1_000_000
TWO_HOSTS = {"kind": "slurm", "partition": "gpu", "nodes": 2}


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("launcher", "resources"),
    [
        ("srun", {**TWO_HOSTS, "ranks_per_node": 1}),
        ("torchrun", {**TWO_HOSTS, "ranks_per_node": 2}),
        ("srun", {"kind": "local", "ranks_per_node": 2}),
    ],
    ids=["srun", "torchrun", "local"],
)
def test_a_million_lines_are_a_million_steps(team: Service, launcher: str, resources: dict[str, Any]) -> None:
    venv = {"venv": str(Path(sys.executable).parents[1])}
    base = printing(STEPS, launcher=launcher, resources=resources, environment=venv)
    (run_id,) = team.post(json.dumps({"name": "a million lines", "base": {"kind": "program", **base}}))
    run = team.wait_for_end(run_id, 900)
    assert run["state"] == "done", team.story(run_id)
    assert faults_of(stored_points(team, run_id), STEPS) == []
