"""Tests of packed jobs: the validation of shared jobs, and their resources."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from contract.spec.checks.packing import combined_resources, job_devices, runs_per_job
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.resources import Resources, Slurm
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 1,
}


def experiment(pack: int, need: dict[str, Any] | None = None, **more: Any) -> Expanded:
    base = {**BASE, "resources": {"kind": "slurm", **(need or {})}}
    return read_experiment({"name": "packed", "base": base, "axes": {"seed": [0, 1]}, "pack": pack, **more})


@pytest.mark.parametrize(
    ("asked", "path", "complaint"),
    [
        ({"pack": 1}, "pack", "greater than or equal to 2"),
        ({"pack": 65}, "pack", "less than or equal to 64"),
        ({"pack": 4, "max_parallel": 3}, "max_parallel", "3 concurrent runs are fewer than the 4 runs of a job"),
        ({"pack": 2, "need": {"nodes": 2}}, "pack", "share one node, but this run needs 2 nodes (point 0)"),
        ({"pack": 64, "need": {"ranks_per_node": 32}}, "pack", "64 runs x 32 ranks = 2048 ranks on one node"),
        ({"pack": 2, "need": {"many_core": {"cpus": 8}}}, "pack", "needs whole chips"),
        ({"pack": 2, "need": {"gres": "disk:10G"}}, "pack", "gres 'disk:10G' cannot be multiplied"),
        ({"pack": 2, "axes": {"resources.nodes": [1, 2]}}, "pack", "needs 2 nodes (point 1)"),
        (
            {"pack": 2, "axes": {"resources": [{"kind": "local"}, {"kind": "slurm"}]}},
            "pack",
            "pack needs Slurm: local runs cannot share a job (point 0)",
        ),
    ],
)
def test_what_cannot_share_a_job_is_refused_with_the_sum(asked: dict[str, Any], path: str, complaint: str) -> None:
    with pytest.raises(ValidationError) as error:
        experiment(**asked)
    (issue,) = issues_of(error.value)
    assert (issue.path, complaint in issue.message) == (path, True), issue


@pytest.mark.parametrize(
    ("gres", "four"),
    [
        ("gpu", "gpu:4"),
        ("gpu:2", "gpu:8"),
        ("gpu:a100", "gpu:a100:4"),
        ("gpu:1g.5gb:3", "gpu:1g.5gb:12"),
        ("gpu:1,shard:2", "gpu:4,shard:8"),
        (None, None),
    ],
)
def test_a_job_of_four_asks_for_four_times_the_ranks_memory_and_devices(gres: str | None, four: str | None) -> None:
    need = Slurm(ranks_per_node=2, cpus_per_rank=3, memory_gb=5, gres=gres)
    assert experiment(4, need.model_dump()).spec.pack == 4
    wanted = Slurm(ranks_per_node=8, cpus_per_rank=3, memory_gb=20, gres=four)
    assert combined_resources(need, 4) == wanted


@pytest.mark.parametrize(
    ("runs", "pack", "each"), [(12, 4, 4), (9, 4, 3), (10, 4, 4), (5, 4, 3), (3, 8, 3), (2, 2, 2), (7, None, 1)]
)
def test_runs_go_into_as_few_jobs_as_may_be_and_evenly(runs: int, pack: int | None, each: int) -> None:
    assert runs_per_job(runs, pack) == each
    assert -(-runs // each) == -(-runs // (pack or 1))


@pytest.mark.parametrize(
    ("resources", "devices"),
    [
        ({"kind": "local", "ranks_per_node": 4}, 4),
        ({"kind": "local", "ranks_per_node": 4, "gpus_per_rank": 2}, 8),
        ({"kind": "slurm", "nodes": 2, "ranks_per_node": 3}, 6),
        ({"kind": "slurm", "nodes": 2, "gres": "gpu:a100:8(S:0-1)"}, 16),
        ({"kind": "slurm", "nodes": 2, "gres": "license:4", "ranks_per_node": 3}, 6),
        ({"kind": "slurm", "nodes": 2, "many_core": {"cpus": 272, "parts": 16, "chips": 2}}, 4),
    ],
)
def test_devices_are_gpus_else_chips_else_ranks(resources: dict[str, Any], devices: int) -> None:
    assert job_devices(TypeAdapter(Resources).validate_python(resources)) == devices
