"""All-gather, reduce-scatter, broadcast and reduce: proofs of their plans, their bytes and prices, and their runner."""

from dataclasses import replace
from typing import get_args

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Operation, Plan, Sends
from trainers.collectives.plans import blocks, ring
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price
from trainers.collectives.runners.group_collectives import GroupCollectives
from trainers.collectives.runners.segments import SEGMENT_BYTES
from trainers.collectives.verify import verify_operation, verify_plan

OPERATIONS: list[Operation] = [name for name in get_args(Operation) if name != "all_reduce"]
PAIR: list[Operation] = ["all_gather", "reduce_scatter"]
FROM_OR_TO_A_ROOT: list[Operation] = ["broadcast", "reduce"]


def prove(plan: Plan, ranks: list[int]) -> None:
    verify_operation(plan, plan.operation, ranks=ranks, chunks=plan.chunks)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_plan_does_what_its_operation_promises_in_every_world_and_order(operation: Operation) -> None:
    for world in range(1, 34):
        for plan in blocks.plans(operation, [range(world)]):
            prove(plan, list(range(world)))
        turned = sorted(range(world), key=lambda rank: (rank * 7 % 11, rank))
        for plan in blocks.plans(operation, [turned]):
            prove(plan, turned)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_modified_plan_is_rejected(operation: Operation) -> None:
    """A message is missing, or adds instead of replaces, or replaces instead of adds."""
    for plan in blocks.plans(operation, [range(8)]):
        rounds = [list(sends) for sends in plan]
        for number, sends in enumerate(rounds):
            for index, send in enumerate(sends):
                for changed in ([], [replace(send, add=not send.add)]):
                    modified = [*sends[:index], *changed, *sends[index + 1 :]]
                    with pytest.raises(ValueError, match="rank"):
                        verify_operation(
                            [*rounds[:number], modified, *rounds[number + 1 :]],
                            operation,
                            ranks=range(8),
                            chunks=plan.chunks,
                        )


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_rank_s_own_sends_are_those_of_the_plan(operation: Operation) -> None:
    for plan in blocks.plans(operation, [range(8)]):
        for rank in range(8):
            whole = [[send for send in sends if rank in (send.src, send.dst)] for sends in plan]
            own = [sorted(sends, key=str) for sends in plan.rounds_of(rank)]
            assert own == [sorted(sends, key=str) for sends in whole]


@pytest.mark.parametrize("doubles", [False, True])
def test_reduce_scatter_and_all_gather_together_are_an_all_reduce(doubles: bool) -> None:
    ranks = range(8)
    both = [*blocks.reduce_scatter(ranks, doubles=doubles), *blocks.all_gather(ranks, doubles=doubles)]
    verify_plan(both, world=8, chunks=8)


@pytest.mark.parametrize("world", [2, 4, 8, 16])
def test_block_plans_move_the_minimum_of_bytes_in_the_stated_rounds(world: int) -> None:
    for operation in PAIR:
        on_ring, doubled = blocks.plans(operation, [range(world)])
        assert (len(list(on_ring)), len(list(doubled))) == (world - 1, world.bit_length() - 1)
        for plan in (on_ring, doubled):
            sent = sum(Sends.of(sends).size_M.sum() for sends in plan)
            assert sent == world * (world - 1)  # chunks, of which a vector has `world`
    for operation in FROM_OR_TO_A_ROOT:
        (plan,) = blocks.plans(operation, [range(world)])
        assert sum(len(sends) for sends in plan) == world - 1
        assert len(list(plan)) == world.bit_length() - 1


def test_the_price_of_an_all_gather_and_a_reduce_scatter_is_that_of_an_all_reduce() -> None:
    hosts = hosts_of(8, 4)
    network = Network(hosts=hosts, rate=25e6, message_s=0.0, add_rate=1e15)
    parts = [price(blocks.plans(name, hosts)[0], network) for name in PAIR]
    whole = price(ring.plan(hosts), network)
    assert sum(part.rounds for part in parts) == whole.rounds
    assert sum(part.seconds(1e6, segments=1) for part in parts) == pytest.approx(whole.seconds(1e6, segments=1))


ORDER = [2, 0, 3, 1]


def collect(columns: int) -> dict[str, Tensor]:
    """Return what each operation gives this rank, which has a tensor of 4 x columns numbers of its own."""
    rank = dist.get_rank()
    assert dist.group.WORLD is not None
    world = GroupCollectives(dist.group.WORLD, order=ORDER, shares_memory=columns % 2 == 0)
    own = own_tensor(rank, columns)
    found = {
        "all_gather": world.all_gather(own),
        "reduce_scatter": world.reduce_scatter(own),
        "all_reduce": world.all_reduce(own.T).T,  # not contiguous
    }
    if columns % 2:
        found |= {"broadcast": world.broadcast(own, 1), "reduce": world.reduce(own, 3)}
    assert torch.equal(own, own_tensor(rank, columns))
    return found


def own_tensor(rank: int, columns: int) -> Tensor:
    return torch.arange(4.0 * columns, dtype=torch.float64).view(4, columns) + 1000 * rank


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("columns", [1, 6, SEGMENT_BYTES // 16 + 3, SEGMENT_BYTES // 16 + 4])
def test_the_runner_gives_the_blocks_in_the_order_of_the_group(columns: int) -> None:
    own = [own_tensor(rank, columns) for rank in ORDER]  # in the order of the group
    whole, total = torch.cat(own), torch.stack(own).sum(dim=0)
    for rank, found in enumerate(on_ranks(4, collect, columns)):
        index = ORDER.index(rank)
        assert torch.equal(found["all_gather"], whole)
        assert torch.equal(found["reduce_scatter"], total[index : index + 1])
        assert torch.equal(found["all_reduce"], total)
        if columns % 2:
            assert torch.equal(found["broadcast"], own[1])
            assert rank != ORDER[3] or torch.equal(found["reduce"], total)
