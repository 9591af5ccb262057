"""A rank's own part of a plan equals its part of the plan of all ranks, and takes under a second on 4,096 ranks."""

import random
import time

import pytest

from contract.spec.choices import collectives as choices
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Send
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.plans import plan_of

SHAPES: list[choices.PlannedCollective] = [
    choices.Ring(),
    choices.Torus(),
    choices.Torus(rows=3),
    choices.Tree(),
    choices.HalvingDoubling(),
    choices.Hierarchical(),
    choices.Hierarchical(group=4),
    choices.Server(),
    choices.Server(servers=3),
]


@pytest.mark.parametrize("choice", SHAPES, ids=choices.describe_collective)
@pytest.mark.parametrize(("world", "nodes"), [(3, 1), (8, 2), (11, 3), (12, 12), (24, 5)])
def test_a_ranks_own_part_is_its_part_of_the_proven_plan(
    choice: choices.PlannedCollective, world: int, nodes: int
) -> None:
    if isinstance(choice, choices.Hierarchical) and (choice.group or 0) > world:
        choice = choices.Hierarchical(group=world)
    plan = plan_of(choice, hosts_of(world, nodes))
    for rank in range(world):
        own = [[send for send in sends if rank in (send.src, send.dst)] for sends in plan]
        assert list(plan.rounds_of(rank)) == own
        assert rank_schedule(plan.rounds_of(rank), rank) == rank_schedule(plan, rank)


@pytest.mark.parametrize(("world", "nodes"), [(1, 1), (2, 1), (7, 2), (12, 3)])
def test_a_ranks_own_part_of_every_color_is_its_part_of_the_proven_plan(world: int, nodes: int) -> None:
    for k in range(1, world + 1):
        plan = plan_of(choices.Colors(k=k), hosts_of(world, nodes))
        for rank in range(world):
            own = [[send for send in sends if rank in (send.src, send.dst)] for sends in plan]
            assert list(plan.rounds_of(rank)) == own


LARGE = [*SHAPES, choices.Colors(), choices.Colors(k=4096), choices.Server(servers=4096), choices.Torus(rows=63)]


@pytest.mark.ring("gate", others="all")
@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("choice", LARGE, ids=choices.describe_collective)
@pytest.mark.parametrize("nodes", [1, 512])
def test_a_rank_of_4096_plans_its_part_within_a_second(choice: choices.PlannedCollective, nodes: int) -> None:
    """The sends of all ranks take a minute."""
    start_s = time.process_time()
    schedule = rank_schedule(plan_of(choice, hosts_of(4096, nodes)).rounds_of(4095), 4095)
    assert time.process_time() - start_s < 1
    assert schedule


def test_a_round_that_overwrites_sent_chunks_is_marked() -> None:
    """Random rounds, against the definition with sets of chunks."""
    draw = random.Random(0)
    for _ in range(200):
        rounds = [[random_send(draw) for _ in range(draw.randint(0, 3))] for _ in range(8)]
        sent: set[int] = set()
        expected = {}
        for number, sends in enumerate(rounds):
            expected[number] = any(sent & set(send.chunks) for send in sends if send.dst == 0)
            sent |= {chunk for send in sends if send.src == 0 for chunk in send.chunks}
        assert all(part.overwrites_sent == expected[part.round] for part in rank_schedule(rounds, 0))


def random_send(draw: random.Random) -> Send:
    start, (src, dst) = draw.randint(0, 20), draw.sample(range(3), 2)
    return Send(src, dst, range(start, start + draw.randint(0, 4)), add=True)
