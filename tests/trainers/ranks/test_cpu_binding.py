"""A rank binds itself, prefers fast memory by numactl, and says what its kernel then says of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.folder.cpu_binding import Binding
from tests.testing.needs import program, require
from tests.testing.trainers.fake_numa_hosts import host
from tests.testing.trainers.jobs import HOUSE, events, finish, prepare, start
from tests.trainers.ranks.test_slurm_ranks import task
from trainers.ranks import cpu_binding as binding

CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
pytestmark = pytest.mark.skipif(not CPUS, reason="this system binds no process")

# A rank on a host whose tree lies in a folder: what it was bound to, as JSON
RANK = """
import sys
from dataclasses import asdict
from pathlib import Path
from contract.spec.many_core import ManyCore
from trainers.ranks import cpu_binding as binding, numa_topology as topology
from trainers.ranks.rank_info import Place
topology.SYSTEM = Path({tree!r})
place = Place({part}, {parts}, {part}, {parts}, host="knl", address="knl")
place = binding.take(ManyCore(cpus=64, parts={parts}, memory_mode={mode!r}), place, rank_cpus=64)
print(binding.told(place, threads=place.cores).model_dump_json())
"""


def bound(tree: Path, *, part: int, parts: int, mode: str, path: str = os.environ["PATH"]) -> Binding:
    code = RANK.format(tree=str(tree), part=part, parts=parts, mode=mode)
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(HOUSE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=HOUSE)
    assert done.returncode == 0, done.stderr
    return Binding.model_validate_json(done.stdout)


def one_node(root: Path) -> Path:
    return host(root, [CPUS], [[10]], [[cpu] for cpu in CPUS])


def test_parts_have_cpus_of_their_own_and_no_policy_where_there_is_no_fast_node(tmp_path: Path) -> None:
    require([] if len(CPUS) > 1 else ["needs two cpus"])
    tree = one_node(tmp_path)
    each = len(CPUS) // 2
    for part in (0, 1):
        told = bound(tree, part=part, parts=2, mode="flat")
        assert told.cpus == spelled(CPUS[part * each : part * each + each])
        assert (told.threads, told.memory) == (each, "default")
        assert told.notes == ["no memory policy: this host has no NUMA node without processors"]


def spelled(cpus: list[int]) -> str:
    """As the kernel has it, of cpus in a row."""
    assert cpus == list(range(cpus[0], cpus[-1] + 1)), "this test wants cpus in a row"
    return f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else str(cpus[0])


def test_as_a_cache_fast_memory_is_no_place_to_prefer(tmp_path: Path) -> None:
    told = bound(one_node(tmp_path), part=0, parts=1, mode="cache")
    assert (told.memory, told.notes) == ("default", [])


def test_under_numactl_the_process_prefers_the_fast_node_and_keeps_its_cpus(tmp_path: Path) -> None:
    """This machine's only node plays the fast one, so that the kernel takes the policy; the tree gives it no cpus."""
    program("numactl")
    tree = host(tmp_path, [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    told = bound(tree, part=0, parts=1, mode="flat")
    assert (told.memory, told.notes, told.cpus) == ("prefer:0", [], spelled(CPUS))


def test_numactl_is_told_the_nodes_and_the_same_command(tmp_path: Path) -> None:
    """A stand-in for numactl: four quadrants' memory is not to be had here."""
    tree = host(tmp_path / "sys", [CPUS, [], []], [[10, 31, 31], [31, 10, 41], [31, 41, 10]], [[cpu] for cpu in CPUS])
    path = played(tmp_path / "bin", f'echo "$1" > {tmp_path}/policy; shift; exec "$@"')
    told = bound(tree, part=0, parts=1, mode="hybrid", path=path)
    assert (tmp_path / "policy").read_text() == "--interleave=1,2\n"
    assert (told.memory, told.cpus, told.notes) == ("default", spelled(CPUS), [])


def played(stage: Path, script: str) -> str:
    """A path on which numactl is this script."""
    stage.mkdir()
    (stage / "numactl").write_text(f"#!/bin/sh\n{script}\n")
    (stage / "numactl").chmod(0o755)
    return f"{stage}:{os.environ['PATH']}"


def test_where_no_policy_may_be_set_the_run_goes_on_and_says_why(tmp_path: Path) -> None:
    """Forces the fault: numactl is refused, as in a container without the right to set a policy."""
    tree = host(tmp_path / "sys", [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    path = played(tmp_path / "bin", "echo 'set_mempolicy: Operation not permitted' >&2; exit 1")
    told = bound(tree, part=0, parts=1, mode="flat", path=path)
    assert (told.memory, told.cpus) == ("default", spelled(CPUS))
    assert told.notes == ["no memory policy for nodes 0: set_mempolicy: Operation not permitted"]


def test_where_numactl_is_missing_the_run_goes_on_and_says_so(tmp_path: Path) -> None:
    tree = host(tmp_path, [[], CPUS], [[10, 31], [31, 10]], [[cpu] for cpu in CPUS])
    told = bound(tree, part=0, parts=1, mode="flat", path=str(tmp_path / "nothing"))
    assert told.notes == ["no memory policy for nodes 0: numactl is not installed"]


def test_one_node_is_preferred_and_several_are_taken_in_turns() -> None:
    assert (binding.policy([4]), binding.policy([4, 5])) == ("--preferred=4", "--interleave=4,5")


def test_a_run_keeps_what_its_ranks_were_bound_to(tmp_path: Path) -> None:
    """Two tasks as srun starts them, on this machine as it is."""
    resources: dict[str, Any] = {"kind": "slurm", "many_core": {"cpus": 8, "parts": 2, "cluster_mode": "quad"}}
    folder = prepare(tmp_path / "run", resources=resources, collective={"kind": "tree"})
    jobs = [start(folder, environment=task(number)) for number in (1, 0)]
    assert [finish(job) for job in jobs] == [(0, ""), (0, "")]
    found = json.loads((folder.path / "binding.json").read_text())
    kept = folder.read_bindings()
    assert kept is not None
    assert found["attempt"] == kept.attempt == 1
    assert [(one.rank, one.host, one.memory) for one in kept.ranks] == [
        (0, "localhost", "default"),
        (1, "localhost", "default"),
    ]
    if len(CPUS) > 1:
        assert kept.ranks[0].cpus != kept.ranks[1].cpus
        assert not any(one.notes for one in kept.ranks)
    assert events(folder)[-1].kind == "finished"
