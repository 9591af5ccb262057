"""How a host is divided among its ranks. The topologies of other hosts are written to a folder."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.testing.trainers.fake_numa_hosts import host, knl
from trainers.ranks.cpu_share import CpuShare, assign_share
from trainers.ranks.numa_topology import SYSTEM, NumaTopology, read_topology

SNC4 = (18, 18, 16, 16)  # of the 68 cores of a Xeon Phi 7250: whole tiles of two


def shares(root: Path, parts: int, *, cpus: int, most: int = 10_000, wants_fast: bool = True) -> list[CpuShare]:
    topology = read_topology(root)
    return [
        assign_share(topology, frozenset(range(cpus)), part=part, parts=parts, most_cores=most, wants_fast=wants_fast)
        for part in range(parts)
    ]


def threads_of(cores: range) -> frozenset[int]:
    return frozenset(core + 68 * thread for core in cores for thread in range(4))


def test_in_snc_4_mode_each_of_four_parts_has_a_quadrant_and_its_fast_memory(tmp_path: Path) -> None:
    found = shares(knl(tmp_path, quadrants=SNC4, is_flat=True), 4, cpus=272)
    starts = [0, 18, 36, 52, 68]
    quadrants = [threads_of(range(start, stop)) for start, stop in pairwise(starts)]
    assert found == [
        CpuShare(size, cpus, (4 + part,)) for part, (size, cpus) in enumerate(zip(SNC4, quadrants, strict=True))
    ]


def test_in_snc_4_mode_two_parts_have_two_quadrants_and_sixteen_parts_a_quarter(tmp_path: Path) -> None:
    root = knl(tmp_path, quadrants=SNC4, is_flat=True)
    two, sixteen = (shares(root, parts, cpus=272) for parts in (2, 16))
    assert [(one.cores, one.memory_nodes) for one in two] == [(36, (4, 5)), (32, (6, 7))]
    assert [(one.cores, one.memory_nodes) for one in sixteen] == [(4, (4 + part // 4,)) for part in range(16)]
    assert not sixteen[3].cpus & sixteen[4].cpus
    assert sixteen[4].cpus == threads_of(range(18, 22))


def test_in_quad_mode_all_parts_share_the_only_fast_node(tmp_path: Path) -> None:
    found = shares(knl(tmp_path, quadrants=(68,), is_flat=True), 4, cpus=272)
    assert [one.cpus for one in found] == [threads_of(range(17 * part, 17 * part + 17)) for part in range(4)]
    assert {one.memory_nodes for one in found} == {(1,)}


def test_no_part_has_more_cores_than_requested(tmp_path: Path) -> None:
    """64 of 68 cores; four remain for the operating system."""
    found = shares(knl(tmp_path, quadrants=(68,), is_flat=False), 4, cpus=272, most=16, wants_fast=False)
    assert [one.cores for one in found] == [16] * 4
    assert found[1].cpus == threads_of(range(17, 33))


def test_only_the_cpus_that_the_job_may_use_are_divided(tmp_path: Path) -> None:
    """A cgroup allows the second half of a chip in quad and cache mode, which has no fast node."""
    topology = read_topology(knl(tmp_path, quadrants=(68,), is_flat=False))
    allowed = threads_of(range(34, 68))
    first, second = (
        assign_share(topology, allowed, part=part, parts=2, most_cores=99, wants_fast=True) for part in range(2)
    )
    assert (first.cpus, second.cpus) == (threads_of(range(34, 51)), threads_of(range(51, 68)))
    assert first.notes == ("no memory policy: this host has no NUMA node without processors",)


def test_three_parts_of_two_sockets_are_divided_in_the_order_of_the_cores(tmp_path: Path) -> None:
    root = host(tmp_path, [[0, 1, 2, 3], [4, 5, 6, 7]], [[10, 20], [20, 10]], [[cpu] for cpu in range(8)])
    found = shares(root, 3, cpus=8, wants_fast=False)
    assert [sorted(one.cpus) for one in found] == [[0, 1], [2, 3], [4, 5]]


def test_more_parts_than_cores_are_not_bound_and_have_a_note(tmp_path: Path) -> None:
    root = host(tmp_path, [[0, 1, 2, 3]], [[10]], [[0, 2], [1, 3]])
    assert shares(root, 4, cpus=4)[3] == CpuShare(1, notes=("not bound: 4 ranks share 2 cores",))


@pytest.mark.parametrize("wants_fast", [False, True])
def test_cpus_are_divided_without_a_topology(tmp_path: Path, wants_fast: bool) -> None:
    found = shares(tmp_path / "nothing", 2, cpus=4, wants_fast=wants_fast)
    assert [sorted(one.cpus) for one in found] == [[0, 1], [2, 3]]
    assert bool(found[0].notes) == wants_fast


def test_the_topology_of_this_machine_can_be_read() -> None:
    here = read_topology(SYSTEM)
    assert here.siblings
    assert isinstance(here, NumaTopology)
    assert not here.nodes or frozenset().union(*(node.cpus for node in here.nodes)) <= set(here.siblings)
