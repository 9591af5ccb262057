"""The all-reduces for GPUs give the plan's own result, with gloo in place of NCCL; the device decides which runs."""

from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from contract.spec.choices import collectives as choices
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build import auto_collective
from trainers.build import collectives as build
from trainers.build.auto_collective import choose_on_gpus
from trainers.collectives import hook, layout
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.runners import p2p_allreduce as p2p
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.runners.gpu_group import backend_of_groups, choose_runner, make_gpu_group
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.runners.p2p_allreduce import p2p_allreduce, p2p_segment_lengths
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.collectives.runners.segments import segment_lengths

PLANS = {
    "ring": ring.plan,
    "torus": torus.plan,
    "tree": tree.plan,
    "colors": lambda hosts: colors.plan(hosts, k=2),
    "hierarchical": hierarchical.plan,
    "halving_doubling": halving_doubling.plan,
    "server": lambda hosts: server.plan(hosts, servers=2),
}
Sums = list[tuple[Tensor, Tensor]]


def vector(length: int) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(dist.get_rank()))


def sum_on_groups(rows: int, wire: torch.dtype | None) -> Sums:
    """Return the sums by groups and by the plan of vectors of several lengths."""
    grid = layout.grid([range(dist.get_world_size())], rows)
    plan = torus.plan([range(dist.get_world_size())], rows=rows)
    by_groups, by_plan = native_torus(grid, wire=wire), make_allreduce(plan, chunks=plan.chunks, wire=wire)
    results = []
    for length in (0, 1, 5, 6, 600, 10_007):
        ours_N, plans_N = vector(length), vector(length)
        by_groups(ours_N)
        by_plan(plans_N)
        results.append((ours_N, plans_N))
    return results


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("wire", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("world", "rows"), [(4, 2), (6, 2), (6, 3), (4, 1), (4, 4)])
def test_the_torus_on_groups_gives_the_plans_result(world: int, rows: int, wire: torch.dtype | None) -> None:
    tolerance = 1e-5 if wire is None else 4 * world * torch.finfo(wire).eps
    ranks = on_ranks(world, sum_on_groups, rows, wire)
    for sums in ranks:
        for (ours_N, plans_N), (first_N, _) in zip(sums, ranks[0], strict=True):
            torch.testing.assert_close(ours_N, plans_N, rtol=tolerance, atol=tolerance)
            assert torch.equal(ours_N, first_N), "all ranks have the same bits"
            assert wire is None or torch.equal(ours_N, ours_N.to(wire).float())


def most_wrong(rows: int, wire: torch.dtype) -> tuple[float, float]:
    """Return the largest errors of a sum that 16 bits cannot hold, by groups and if the backend adds in 16 bits."""
    grid = layout.grid([range(dist.get_world_size())], rows)
    x_N = torch.full((64,), 256.0 if dist.get_rank() == 0 else 0.75)  # bfloat16 adds 0.75 to 256 in steps of 2
    exact = 256 + 0.75 * (dist.get_world_size() - 1)
    narrow_N = x_N.to(wire)
    for part_N in (gathered := [torch.empty_like(narrow_N) for _ in range(dist.get_world_size())]):
        part_N.zero_()
    dist.all_gather(gathered, narrow_N)
    added_N = gathered[0]
    for part_N in gathered[1:]:
        added_N = added_N + part_N
    native_torus(grid, wire=wire)(x_N)
    return float((x_N - exact).abs().max()), float((added_N.float() - exact).abs().max())


def test_the_torus_on_groups_adds_in_float32() -> None:
    for ours, in_16_bits in on_ranks(4, most_wrong, 1, torch.bfloat16):
        assert ours <= 1.0  # the rounding of the result
        assert in_16_bits > 2 * ours


def sum_as_a_spec_says() -> tuple[Tensor, str]:
    """Build a spec's torus as for a GPU, on groups of gloo."""
    torus_of_spec = choices.Torus(rows=2, wire="bfloat16", timeout_s=30)
    hosts = [[0, 1], [2, 3]]
    with mock.patch.object(build, "backend_of_groups", return_value=None):
        allreduce = build._build_one(torus_of_spec, hosts=hosts, device=torch.device("cuda"), group=None)
    x_N = torch.ones(10)
    allreduce(x_N)
    return x_N, allreduce.__qualname__


def test_a_specs_torus_on_gpus_is_the_torus_on_groups() -> None:
    for x_N, name in on_ranks(4, sum_as_a_spec_says):
        assert x_N.tolist() == [4.0] * 10
        assert name.startswith("native_torus")


def test_the_torus_on_groups_refuses_rows_of_unequal_length() -> None:
    with pytest.raises(ValueError, match=r"equal lengths, not \[3, 2\]"):
        native_torus([[0, 1, 2], [3, 4]])


def sum_by_messages(kind: str, hosts: list[list[int]], wire: torch.dtype | None) -> Sums:
    """Return the sums by point-to-point messages and by the own connections, both in the same segments."""
    plan: Plan = PLANS[kind](hosts)
    schedule = rank_schedule(plan, dist.get_rank())
    by_connections = make_allreduce(plan, chunks=plan.chunks, wire=wire)
    results = []
    for length in (0, 1, 7, 1000, 1_100_000):  # the last has three segments
        ours_N, plans_N = vector(length), vector(length)
        lengths = segment_lengths(length, 4)
        p2p_allreduce(ours_N, schedule, chunks=plan.chunks, group=None, wire=wire, lengths=lengths)
        by_connections(plans_N)
        results.append((ours_N, plans_N))
    return results


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("wire", [None, torch.bfloat16])
@pytest.mark.parametrize("kind", PLANS)
def test_messages_of_a_plan_give_the_bits_of_its_connections(kind: str, wire: torch.dtype | None) -> None:
    for sums in on_ranks(4, sum_by_messages, kind, [[0, 1], [2, 3]], wire):
        for ours_N, plans_N in sums:
            assert torch.equal(ours_N, plans_N)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", ["torus", "ring", "tree", "hierarchical"])
def test_messages_of_a_plan_on_uneven_hosts_give_the_bits_of_its_connections(kind: str) -> None:
    for sums in on_ranks(5, sum_by_messages, kind, [[0, 1, 2], [3, 4]], torch.float16):
        for ours_N, plans_N in sums:
            assert torch.equal(ours_N, plans_N)


def count_batches(length: int) -> int:
    world = dist.get_world_size()
    plan, x_N = torus.plan([range(world)], rows=2), torch.ones(length)
    with mock.patch.object(p2p.dist, "batch_isend_irecv", side_effect=dist.batch_isend_irecv) as start:
        p2p_allreduce(x_N, rank_schedule(plan, dist.get_rank()), chunks=plan.chunks, group=None)
    assert torch.equal(x_N, torch.full((length,), float(world)))
    return start.call_count


def test_the_segments_of_a_vector_pass_through_the_rounds_in_a_pipeline() -> None:
    """4 segments in 4 rounds are 7 batches of messages, where one after the other they would be 16."""
    assert on_ranks(4, count_batches, 1000) == [4] * 4
    assert on_ranks(4, count_batches, 4 * p2p.LEAST_SEGMENT_BYTES // 4) == [7] * 4


def test_the_segments_of_a_gpus_vector_fill_it() -> None:
    assert p2p_segment_lengths(10, 4) == [10]
    assert p2p_segment_lengths(3 << 20, 4) == [1 << 20] * 3
    for elements in (0, 1, 1_000_001, 5_000_003, 1 << 26):
        lengths = p2p_segment_lengths(elements, 4)
        assert sum(lengths) == elements
        assert len(lengths) <= p2p.MOST_SEGMENTS


@pytest.mark.parametrize(
    ("kind", "device_type", "row_lengths", "expected"),
    [
        ("native", "cpu", [], "backend"),
        ("native", "cuda", [], "backend"),
        ("torus", "cpu", [2, 2], "connections"),
        ("torus", "cuda", [3, 3], "groups"),
        ("torus", "cuda", [3, 2], "messages"),
        ("ring", "cpu", [], "connections"),
        ("ring", "cuda", [], "messages"),
        ("hierarchical", "cuda", [], "messages"),
    ],
)
def test_the_device_and_the_kind_decide_the_runner(
    kind: str, device_type: str, row_lengths: list[int], expected: str
) -> None:
    assert choose_runner(kind, device_type=device_type, row_lengths=row_lengths) == expected


def test_groups_for_gpus_have_nccl_alone() -> None:
    assert backend_of_groups("cuda") == "nccl"
    assert backend_of_groups("cpu") is None
    assert make_gpu_group(torch.device("cpu"), timeout_s=1.0) is None


def test_auto_on_gpus_keeps_wire_and_timeout() -> None:
    assert choose_on_gpus(choices.Auto(timeout_s=7)) == choices.Native(timeout_s=7)
    assert choose_on_gpus(choices.Auto(wire="bfloat16", timeout_s=7)) == choices.Torus(wire="bfloat16", timeout_s=7)
    assert auto_collective.CHOSEN.validate_python({"kind": "torus", "wire": "bfloat16"})


@pytest.mark.parametrize(
    ("device_type", "backend_config", "expected"),
    [
        ("cuda", "cpu:gloo,cuda:nccl", True),  # init_process_group() without a backend, and the engine's
        ("cuda", "cuda:nccl", True),
        ("cuda", "cpu:gloo,cuda:gloo", False),
        ("cpu", "cpu:gloo,cuda:nccl", False),
    ],
)
def test_the_hook_looks_at_the_backend_of_the_models_device(
    device_type: str, backend_config: str, expected: bool
) -> None:
    assert hook.uses_groups(device_type, backend_config) is expected
