"""Rounds and bytes are those that the papers count."""

from collections.abc import Iterator
from math import ceil, log2

import numpy as np
import pytest

from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Plan, Sends
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree


def rounds(plan: Plan) -> int:
    return sum(1 for _ in plan)


def carried(plan: Plan) -> Iterator[tuple[list[float], list[float]]]:
    """Round by round, how many times the whole vector each rank sends and receives."""
    for sends in map(Sends.of, plan):
        share_M = sends.size_M / plan.chunks
        yield tuple(np.bincount(end_M, share_M, plan.world).tolist() for end_M in (sends.src_M, sends.dst_M))


def moved(plan: Plan) -> tuple[list[float], list[float]]:
    """How many times the whole vector each rank sends and receives in all."""
    sent, received = zip(*carried(plan), strict=True)
    return np.sum(sent, axis=0).tolist(), np.sum(received, axis=0).tolist()


def hottest(plan: Plan) -> float:
    """The vectors that pass one after the other where most pass: each round's busiest rank and direction, summed."""
    return sum(max(*sent, *received) for sent, received in carried(plan))


MIKAMI = [  # N, the grid, rounds of the ring, rounds of the torus, of them horizontal (papers, 4.1)
    (4, 2, 6, 4, 2),
    (16, 4, 30, 12, 6),
    (64, 8, 126, 28, 14),
    (256, 16, 510, 60, 30),
    (1024, 32, 2046, 124, 62),
    (1088, 32, 2174, 128, 66),
    (2176, 34, 4350, 192, 126),
    (3456, 54, 6910, 232, 126),
]


@pytest.mark.parametrize(("world", "rows", "in_a_ring", "in_a_torus", "horizontal"), MIKAMI)
def test_the_torus_takes_as_many_rounds_as_its_paper_counts(
    world: int, rows: int, in_a_ring: int, in_a_torus: int, horizontal: int
) -> None:
    plan = torus.plan([range(world)])
    assert plan.shape == {"rows": rows}
    assert rounds(plan) == in_a_torus == 2 * (world // rows - 1) + 2 * (rows - 1)
    assert horizontal == 2 * (world // rows - 1)
    assert rounds(ring.plan([range(world)])) == in_a_ring == 2 * (world - 1)


@pytest.mark.parametrize("world", [2, 6, 12, 64])
def test_torus_ring_and_halving_move_the_least_bytes_there_can_be(world: int) -> None:
    plans = [ring.plan([range(world)]), *(torus.plan([range(world)], rows=rows) for rows in (1, 2, world))]
    if world & (world - 1) == 0:
        plans.append(halving_doubling.plan([range(world)]))
    for plan in plans:
        for way in moved(plan):
            assert way == pytest.approx([2 * (world - 1) / world] * world)


@pytest.mark.parametrize("world", range(2, 65))
def test_halving_and_doubling_take_the_fewest_rounds(world: int) -> None:
    folds = 0 if world & (world - 1) == 0 else 2
    assert rounds(halving_doubling.plan([range(world)])) == 2 * int(log2(world)) + folds
    assert rounds(tree.plan([range(world)])) == 2 * ceil(log2(world))


@pytest.mark.parametrize(("hosts", "ranks"), [(4, 3), (3, 6), (2, 4), (16, 17), (5, 1), (1, 5)])
def test_a_tree_over_hosts_crosses_each_link_once_each_way(hosts: int, ranks: int) -> None:
    """Also where a host has not 2, 4, 8... ranks, as a chip in 17 parts."""
    plan = tree.plan(hosts_of(hosts * ranks, hosts))
    sends = [Sends.of(of_round) for of_round in plan]
    crossing = sum(int((one.src_M // ranks != one.dst_M // ranks).sum()) for one in sends)
    assert crossing == 2 * (hosts - 1)
    assert len(sends) == 2 * (ceil(log2(ranks)) + ceil(log2(hosts))) <= 2 * (ceil(log2(hosts * ranks)) + 1)


def test_on_vertical_links_the_hierarchy_moves_x_times_more_than_the_torus() -> None:
    for hosts, ranks in ((2, 4), (4, 2), (3, 5), (8, 8)):
        place = hosts_of(hosts * ranks, hosts)
        between = [busiest_pair(plan, ranks) for plan in (hierarchical.plan(place), torus.plan(place))]
        assert between[0] == pytest.approx(ranks * between[1])


def busiest_pair(plan: Plan, ranks_per_host: int) -> float:
    """The most that one rank sends to ranks of other hosts, in vectors."""
    out = np.zeros(plan.world)
    for sends in map(Sends.of, plan):
        between_M = sends.src_M // ranks_per_host != sends.dst_M // ranks_per_host
        out += np.bincount(sends.src_M, between_M * sends.size_M / plan.chunks, plan.world)
    return float(out.max())


@pytest.mark.parametrize(("world", "group", "in_a_ring", "in_groups"), [(1024, 16, 2046, 186), (1024, 32, 2046, 186)])
def test_groups_take_as_many_rounds_as_their_paper_counts(
    world: int, group: int, in_a_ring: int, in_groups: int
) -> None:
    assert rounds(ring.plan([range(world)])) == in_a_ring
    assert rounds(hierarchical.plan([range(world)], group=group)) == in_groups
    assert in_groups == 4 * (group - 1) + 2 * (world // group - 1)


@pytest.mark.parametrize("world", [4, 8, 16, 32, 64, 128, 256])
def test_server_and_tree_carry_what_firecaffe_counts(world: int) -> None:
    """|dW| p / BW against |dW| 2 log2(p) / BW: the server's count is one way and has p workers beside it."""
    assert hottest(tree.plan([range(world)])) == 2 * log2(world)
    sent, received = moved(server.plan([range(world)]))
    assert max(sent) == max(received) == world - 1
    assert hottest(server.plan([range(world)])) == 2 * (world - 1)


@pytest.mark.parametrize(("world", "servers"), [(8, 2), (8, 8), (12, 3), (7, 3)])
def test_shards_divide_the_servers_load(world: int, servers: int) -> None:
    sent, received = moved(server.plan([range(world)], servers=servers))
    assert max(sent) == max(received) == pytest.approx((world - 1) / servers + (servers - 1) / servers)


@pytest.mark.parametrize(("world", "k", "depth"), [(8, 4, 2), (16, 4, 2), (32, 4, 3), (64, 4, 3), (64, 2, 6)])
def test_colors_take_twice_their_depth_and_move_two_vectors_at_most(world: int, k: int, depth: int) -> None:
    plan = colors.plan([range(world)], k=k)
    assert rounds(plan) == 2 * depth
    for way in moved(plan):
        assert max(way) <= 2


def test_one_tree_has_k_times_the_load_of_k_colors() -> None:
    """A single 4-ary tree: the root takes in 4 vectors; 4 colors share that."""
    alone = colors.Tree(range(64), 4)
    received = np.zeros(64)
    for sends in map(Sends.of, alone.reduce(range(1))):
        received += np.bincount(sends.dst_M, sends.size_M, 64)
    assert received.max() == 4


def test_as_many_servers_hide_their_traffic_as_the_lemma_says() -> None:
    """N_ps >= 2 S N_w / (B T_c): 8 workers of 100 MB each over 1.25 GB/s links, one second of compute."""
    assert server.servers_to_hide(100e6, workers=8, rate=1.25e9, compute_s=1.0) == 2
    assert server.servers_to_hide(100e6, workers=8, rate=1.25e9, compute_s=0.1) == 13
