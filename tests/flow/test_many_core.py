"""Many-core chips in parts, on the lab's knl hosts: what was asked reached Slurm, and the ranks are bound to it.

The lab's hosts share this machine's cores and its one NUMA node: what a chip of several would get is tested on trees in
folders (tests/trainers/ranks/test_cpu_share.py).
"""

import os
import subprocess
from typing import Any

import pytest

from tests.testing.service import Service

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis]
SPEC = """
name: a chip in parts
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.05}}
  batch: 64
  epochs: 4
  collective: {{kind: tree}}
  resources: {{kind: slurm, partition: knl, {resources}}}
"""
CORES = len(os.sched_getaffinity(0))


def trained(team: Service, resources: str) -> dict[str, Any]:
    (run_id,) = team.post(SPEC.format(resources=resources))
    run = team.wait_for_end(run_id)
    assert run["state"] == "done", team.story(run_id)
    assert run["latest"]["heldout_accuracy"] > 0.9
    return run


def job(team: Service, run: dict[str, Any]) -> list[str]:
    """What Slurm knows of the run's job, word by word."""
    command = ["scontrol", "-o", "show", "job", run["job_id"]]
    return subprocess.run(command, env=team.environment, check=True, capture_output=True, text=True).stdout.split()


def test_two_parts_on_each_of_two_hosts_train_on_cores_of_their_own(team: Service) -> None:
    run = trained(team, "nodes: 2, constraint: knl, many_core: {cpus: 8, parts: 2, cluster_mode: quad}")
    words = job(team, run)
    assert {"Features=knl&quad", "NumNodes=2", "NumTasks=4", "CPUs/Task=4"} <= set(words)
    assert next(word for word in words if word.startswith("OverSubscribe=")) == "OverSubscribe=NO"
    assert run["bindings"]["constraint"] == "knl&quad"
    ranks = run["bindings"]["ranks"]
    assert [(rank["rank"], rank["host"]) for rank in ranks] == [(0, "knl1"), (1, "knl1"), (2, "knl2"), (3, "knl2")]
    assert [rank["memory"] for rank in ranks] == ["default"] * 4, "in no mode that was asked for is there fast memory"
    if CORES >= 2:
        assert [rank["notes"] for rank in ranks] == [[]] * 4
        assert ranks[0]["cpus"] == ranks[2]["cpus"] != ranks[1]["cpus"] == ranks[3]["cpus"]
        assert [rank["threads"] for rank in ranks] == [min(4, CORES // 2)] * 4
    log = team.get(f"/runs/{run['id']}/log", limit=1_000_000)["text"]
    assert f"rank 3 on knl2: cpus {ranks[3]['cpus']}, " in log


def test_flat_memory_is_asked_for_and_where_no_node_is_fast_the_run_says_so(team: Service) -> None:
    run = trained(team, "many_core: {cpus: 8, parts: 2, cluster_mode: quad, memory_mode: flat}")
    assert {"Features=quad&flat", "NodeList=knl2"} <= set(job(team, run))
    notes = {note for rank in run["bindings"]["ranks"] for note in rank["notes"]}
    assert "no memory policy: this host has no NUMA node without processors" in notes
