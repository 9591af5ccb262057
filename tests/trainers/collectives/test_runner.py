"""make_allreduce() gives the sum of dist.all_reduce for every world, length and type, with equal bits on all ranks."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plan import Round, Send
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce

LENGTHS = (0, 1, 2, 5, 64, 1009)
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def allreduces(world: int, wire: torch.dtype | None = None) -> dict[str, Allreduce]:
    """Return every algorithm in every different shape on one host, and on two hosts if the plan depends on hosts."""
    ranks = range(world)
    one, two = [ranks], [part for part in (ranks[: world // 2], ranks[world // 2 :]) if part]
    plans = {"ring": ring.plan(one), "halving_doubling": halving_doubling.plan(one)}
    plans |= {f"tree over {len(hosts)} hosts": tree.plan(hosts) for hosts in (one, two)}
    plans |= {f"torus of {rows} rows": torus.plan(one, rows=rows) for rows in range(1, world + 1) if world % rows == 0}
    plans |= {f"{k} colors": colors.plan(one, k=k) for k in (2, 3, 4) if k <= world}
    plans |= {f"groups of {size}": hierarchical.plan(one, group=size) for size in (2, 3, 4) if size <= world}
    plans |= {f"{servers} servers": server.plan(one, servers=servers) for servers in sorted({1, min(2, world), world})}
    return {name: make_allreduce(plan, chunks=plan.chunks, wire=wire) for name, plan in plans.items()}


def part(rank: int, length: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(1000 * rank + length)).to(dtype)


def sum_all() -> dict[tuple[str, int, torch.dtype], tuple[Tensor, Tensor, Tensor]]:
    """Return for each plan, length and type the plan's sum, the same sum again, and the backend's sum."""
    rank, world = dist.get_rank(), dist.get_world_size()
    out = {}
    for name, allreduce in allreduces(world).items():
        for dtype in TYPES:
            for length in LENGTHS:
                x_N, again_N, native_N = (part(rank, length, dtype) for _ in range(3))
                allreduce(x_N)
                allreduce(again_N)
                dist.all_reduce(native_N)
                out[name, length, dtype] = (x_N, again_N, native_N)
    return out


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [1, 2, 3, 4, 6])
def test_every_plan_gives_the_backends_sum_with_the_same_bits_on_every_rank(world: int) -> None:
    results = on_ranks(world, sum_all)
    for case, (x_N, again_N, native_N) in results[0].items():
        # each of world - 1 additions rounds once
        torch.testing.assert_close(
            x_N, native_N, rtol=world * torch.finfo(case[2]).eps, atol=world * 1e-2, msg=f"{case}"
        )
        assert torch.equal(x_N, again_N), case
        for other in results[1:]:
            assert torch.equal(x_N, other[case][0]), case


def sum_large() -> dict[tuple[str, torch.dtype | None], Tensor]:
    """Return the sums of a vector of many chunks by the backend, and by each plan with each format of messages."""
    rank, world = dist.get_rank(), dist.get_world_size()
    out = {}
    for wire in (None, torch.bfloat16, torch.float16):
        for name, allreduce in allreduces(world, wire).items():
            out[name, wire] = part(rank, 10_007, torch.float32)
            allreduce(out[name, wire])
    out["native", None] = part(rank, 10_007, torch.float32)
    dist.all_reduce(out["native", None])
    return out


@pytest.mark.parametrize("world", [2, 3, 4])
def test_the_backend_and_every_plan_with_every_wire_give_the_same_bits_on_every_rank(world: int) -> None:
    """Replicas that apply sums of different bits would differ after one step."""
    first, *others = on_ranks(world, sum_large)
    for case, x_N in first.items():
        assert all(torch.equal(x_N, other[case]) for other in others), case


def sum_integers() -> list[Tensor]:
    """Sum whole numbers, which are exact in every type, so the comparison needs no tolerance."""
    rank, world = dist.get_rank(), dist.get_world_size()
    parts = [(torch.arange(length) * (rank + 1) % 7).to(dtype) for length in LENGTHS for dtype in TYPES]
    for allreduce in allreduces(world).values():
        for x_N in parts:
            expected_N = x_N.clone()
            dist.all_reduce(expected_N)
            got_N = x_N.clone()
            allreduce(got_N)
            assert torch.equal(got_N, expected_N)
    return parts


@pytest.mark.ring("all")
def test_whole_numbers_sum_exactly() -> None:
    on_ranks(4, sum_integers)


def sum_several_parts_per_round() -> None:
    world = dist.get_world_size()
    # rank 0 receives two parts in one round; then a rank receives a slice that it sent in the round before
    rounds: list[Round] = [
        [Send(1, 0, range(2), add=True), Send(2, 0, range(2), add=True)],
        [Send(0, 1, range(2), add=False)],
        [Send(1, 2, range(2), add=False)],
    ]
    allreduce = make_allreduce(rounds, chunks=2)
    for length in (3, 30, 7):  # the buffers grow, and are reused for shorter vectors
        x_N = torch.full((length,), float(dist.get_rank() + 1))
        allreduce(x_N)
        assert torch.equal(x_N, torch.full((length,), 6.0)), x_N
    with pytest.raises(ValueError, match="flat, contiguous"):
        allreduce(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="flat, contiguous"):
        allreduce(torch.zeros(8)[::2])
    assert world == 3


def test_a_rank_may_receive_several_parts_at_once() -> None:
    on_ranks(3, sum_several_parts_per_round)


def sum_in_group() -> list[float]:
    group = dist.new_group([0, 2], backend="gloo")
    x_N = torch.full((5,), float(dist.get_rank()))
    if dist.get_rank() in (0, 2):
        make_allreduce(ring.allreduce(range(2), range(2)), chunks=2, group=group)(x_N)
    return x_N.tolist()


def test_a_plan_runs_in_a_group() -> None:
    assert on_ranks(3, sum_in_group) == [[2.0] * 5, [1.0] * 5, [2.0] * 5]
