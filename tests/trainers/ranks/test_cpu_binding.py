"""A rank binds itself to cpus, prefers fast memory by numactl, and reports its binding as the kernel shows it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.folder.cpu_binding import CpuBinding
from tests.testing.needs import program, require
from tests.testing.trainers.fake_numa_hosts import host
from tests.testing.trainers.jobs import HOUSE, events, finish, prepare, srun_variables, start
from trainers.ranks import cpu_binding

CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
pytestmark = pytest.mark.skipif(not CPUS, reason="this system binds no process")

# a rank on a host with a topology from a folder prints its binding as JSON
RANK = """
import sys
from dataclasses import asdict
from pathlib import Path
from contract.spec.many_core import ManyCore
from trainers.ranks import cpu_binding
from trainers.ranks import numa_topology
from trainers.ranks.rank_info import RankInfo
numa_topology.SYSTEM = Path({tree!r})
info = RankInfo({part}, {parts}, {part}, {parts}, host="knl", address="knl")
info = cpu_binding.bind_process(ManyCore(cpus=64, parts={parts}, memory_mode={mode!r}), info, rank_cpus=64)
print(cpu_binding.read_binding(info, threads=info.cores).model_dump_json())
"""


def bound(tree: Path, *, part: int, parts: int, mode: str, path: str = os.environ["PATH"]) -> CpuBinding:
    code = RANK.format(tree=str(tree), part=part, parts=parts, mode=mode)
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(HOUSE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=HOUSE)
    assert done.returncode == 0, done.stderr
    return CpuBinding.model_validate_json(done.stdout)


def one_node(root: Path) -> Path:
    return host(root, [CPUS], [[10]], [[cpu] for cpu in CPUS])


def test_parts_have_separate_cpus_and_no_policy_without_a_fast_node(tmp_path: Path) -> None:
    require([] if len(CPUS) > 1 else ["needs two cpus"])
    tree = one_node(tmp_path)
    each = len(CPUS) // 2
    for part in (0, 1):
        results = bound(tree, part=part, parts=2, mode="flat")
        assert results.cpus == kernel_list(CPUS[part * each : part * each + each])
        assert (results.threads, results.memory) == (each, "default")
        assert results.notes == ["no memory policy: this host has no NUMA node without processors"]


def kernel_list(cpus: list[int]) -> str:
    """Return consecutive cpus as the kernel prints them."""
    assert cpus == list(range(cpus[0], cpus[-1] + 1)), "this test wants cpus in a row"
    return f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else str(cpus[0])


def test_fast_memory_in_cache_mode_is_not_preferred(tmp_path: Path) -> None:
    results = bound(one_node(tmp_path), part=0, parts=1, mode="cache")
    assert (results.memory, results.notes) == ("default", [])


def test_under_numactl_the_process_prefers_the_fast_node_and_remains_bound_to_its_cpus(tmp_path: Path) -> None:
    """The topology shows this machine's only node without cpus, so that the kernel accepts it as the fast node."""
    program("numactl")
    tree = host(tmp_path, [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    results = bound(tree, part=0, parts=1, mode="flat")
    assert (results.memory, results.notes, results.cpus) == ("prefer:0", [], kernel_list(CPUS))


def test_numactl_gets_the_nodes_and_the_same_command(tmp_path: Path) -> None:
    """Replaces numactl, because this machine lacks the memory of four quadrants."""
    tree = host(tmp_path / "sys", [CPUS, [], []], [[10, 31, 31], [31, 10, 41], [31, 41, 10]], [[cpu] for cpu in CPUS])
    path = fake_numactl(tmp_path / "bin", f'echo "$1" > {tmp_path}/policy; shift; exec "$@"')
    results = bound(tree, part=0, parts=1, mode="hybrid", path=path)
    assert (tmp_path / "policy").read_text() == "--interleave=1,2\n"
    assert (results.memory, results.cpus, results.notes) == ("default", kernel_list(CPUS), [])


def fake_numactl(stage: Path, script: str) -> str:
    """Return a PATH on which numactl is this script."""
    stage.mkdir()
    (stage / "numactl").write_text(f"#!/bin/sh\n{script}\n")
    (stage / "numactl").chmod(0o755)
    return f"{stage}:{os.environ['PATH']}"


def test_a_forbidden_memory_policy_becomes_a_note(tmp_path: Path) -> None:
    """Forces an error of numactl, as in a container without the right to set a policy."""
    tree = host(tmp_path / "sys", [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    path = fake_numactl(tmp_path / "bin", "echo 'set_mempolicy: Operation not permitted' >&2; exit 1")
    results = bound(tree, part=0, parts=1, mode="flat", path=path)
    assert (results.memory, results.cpus) == ("default", kernel_list(CPUS))
    assert results.notes == ["no memory policy for nodes 0: set_mempolicy: Operation not permitted"]


def test_a_missing_numactl_becomes_a_note(tmp_path: Path) -> None:
    tree = host(tmp_path, [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    results = bound(tree, part=0, parts=1, mode="flat", path=str(tmp_path / "nothing"))
    assert results.notes == ["no memory policy for nodes 0: numactl is not installed"]


def test_one_node_is_preferred_and_several_are_interleaved() -> None:
    assert (cpu_binding.numactl_option([4]), cpu_binding.numactl_option([4, 5])) == (
        "--preferred=4",
        "--interleave=4,5",
    )


@pytest.mark.ring("all")
def test_a_run_stores_the_binding_of_its_ranks(tmp_path: Path) -> None:
    """Two tasks as srun starts them, on this machine."""
    resources: dict[str, Any] = {"kind": "slurm", "many_core": {"cpus": 8, "parts": 2, "cluster_mode": "quad"}}
    folder = prepare(tmp_path / "run", resources=resources, collective={"kind": "tree"})
    jobs = [start(folder, environment=srun_variables(number)) for number in (1, 0)]
    assert [finish(job) for job in jobs] == [(0, ""), (0, "")]
    found = json.loads((folder.path / "binding.json").read_text())
    recorded = folder.read_bindings()
    assert recorded is not None
    assert found["attempt"] == recorded.attempt == 1
    assert [(one.rank, one.host, one.memory) for one in recorded.ranks] == [
        (0, "localhost", "default"),
        (1, "localhost", "default"),
    ]
    if len(CPUS) > 1:
        assert recorded.ranks[0].cpus != recorded.ranks[1].cpus
        assert not any(one.notes for one in recorded.ranks)
    assert events(folder)[-1].kind == "finished"
