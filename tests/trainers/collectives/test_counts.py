"""Plans have the numbers of rounds and bytes that the papers state."""

from collections.abc import Iterator
from math import ceil, log2

import numpy as np
import pytest

from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Plan, Sends
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price

pytestmark = pytest.mark.ring("quick")


def count_rounds(plan: Plan) -> int:
    return sum(1 for _ in plan)


def traffic_by_round(plan: Plan) -> Iterator[tuple[list[float], list[float]]]:
    """Yield for each round how many vectors each rank sends, and how many it receives."""
    for sends in map(Sends.of, plan):
        share_M = sends.size_M / plan.chunks
        yield tuple(np.bincount(end_M, share_M, plan.world).tolist() for end_M in (sends.src_M, sends.dst_M))


def total_traffic(plan: Plan) -> tuple[list[float], list[float]]:
    """Return how many vectors each rank sends, and how many it receives, in the whole plan."""
    sent, received = zip(*traffic_by_round(plan), strict=True)
    return np.sum(sent, axis=0).tolist(), np.sum(received, axis=0).tolist()


def serial_traffic(plan: Plan) -> float:
    """Return the sum over the rounds of the vectors that the round's busiest rank sends or receives."""
    return sum(max(*sent, *received) for sent, received in traffic_by_round(plan))


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


@pytest.mark.parametrize(("world", "rows", "ring_rounds", "torus_rounds", "horizontal"), MIKAMI)
def test_the_torus_has_the_rounds_of_its_paper(
    world: int, rows: int, ring_rounds: int, torus_rounds: int, horizontal: int
) -> None:
    plan = torus.plan([range(world)])
    assert plan.shape == {"rows": rows}
    assert count_rounds(plan) == torus_rounds == 2 * (world // rows - 1) + 2 * (rows - 1)
    assert horizontal == 2 * (world // rows - 1)
    assert count_rounds(ring.plan([range(world)])) == ring_rounds == 2 * (world - 1)


@pytest.mark.parametrize("world", [2, 6, 12, 64])
def test_torus_ring_and_halving_transfer_the_minimum_of_bytes(world: int) -> None:
    plans = [ring.plan([range(world)]), *(torus.plan([range(world)], rows=rows) for rows in (1, 2, world))]
    if world & (world - 1) == 0:
        plans.append(halving_doubling.plan([range(world)]))
    for plan in plans:
        for direction in total_traffic(plan):
            assert direction == pytest.approx([2 * (world - 1) / world] * world)


@pytest.mark.parametrize("world", range(2, 65))
def test_halving_and_doubling_have_the_minimum_of_rounds(world: int) -> None:
    folds = 0 if world & (world - 1) == 0 else 2
    assert count_rounds(halving_doubling.plan([range(world)])) == 2 * int(log2(world)) + folds
    assert count_rounds(tree.plan([range(world)])) == 2 * ceil(log2(world))


@pytest.mark.parametrize(("hosts", "ranks"), [(4, 3), (3, 6), (2, 4), (16, 17), (5, 1), (1, 5)])
def test_a_tree_over_hosts_crosses_each_link_once_each_way(hosts: int, ranks: int) -> None:
    """Include hosts whose number of ranks is no power of two, as with a chip in 17 parts."""
    plan = tree.plan(hosts_of(hosts * ranks, hosts))
    sends = [Sends.of(of_round) for of_round in plan]
    crossing = sum(int((one.src_M // ranks != one.dst_M // ranks).sum()) for one in sends)
    assert crossing == 2 * (hosts - 1)
    assert len(sends) == 2 * (ceil(log2(ranks)) + ceil(log2(hosts))) <= 2 * (ceil(log2(hosts * ranks)) + 1)


def test_between_hosts_hierarchical_transfers_as_many_times_the_torus_as_a_host_has_ranks() -> None:
    for hosts, ranks in ((2, 4), (4, 2), (3, 5), (8, 8)):
        layout = hosts_of(hosts * ranks, hosts)
        between = [busiest_pair(plan, ranks) for plan in (hierarchical.plan(layout), torus.plan(layout))]
        assert between[0] == pytest.approx(ranks * between[1])


def busiest_pair(plan: Plan, ranks_per_host: int) -> float:
    """Return the largest number of vectors that one rank sends to other hosts."""
    out = np.zeros(plan.world)
    for sends in map(Sends.of, plan):
        between_M = sends.src_M // ranks_per_host != sends.dst_M // ranks_per_host
        out += np.bincount(sends.src_M, between_M * sends.size_M / plan.chunks, plan.world)
    return float(out.max())


@pytest.mark.parametrize(
    ("world", "group", "ring_rounds", "group_rounds"), [(1024, 16, 2046, 186), (1024, 32, 2046, 186)]
)
def test_groups_have_the_rounds_of_their_paper(world: int, group: int, ring_rounds: int, group_rounds: int) -> None:
    assert count_rounds(ring.plan([range(world)])) == ring_rounds
    assert count_rounds(hierarchical.plan([range(world)], group=group)) == group_rounds
    assert group_rounds == 4 * (group - 1) + 2 * (world // group - 1)


@pytest.mark.parametrize("world", [4, 8, 16, 32, 64, 128, 256])
def test_server_and_tree_transfer_what_firecaffe_states(world: int) -> None:
    """FireCaffe: |dW| p / BW for a separate server with p workers, one direction; |dW| 2 log2(p) / BW for a tree."""
    assert serial_traffic(tree.plan([range(world)])) == 2 * log2(world)
    sent, received = total_traffic(server.plan([range(world)]))
    assert max(sent) == max(received) == world - 1
    assert serial_traffic(server.plan([range(world)])) == 2 * (world - 1)


@pytest.mark.parametrize(("world", "servers"), [(8, 2), (8, 8), (12, 3), (7, 3)])
def test_shards_divide_the_servers_load(world: int, servers: int) -> None:
    sent, received = total_traffic(server.plan([range(world)], servers=servers))
    assert max(sent) == max(received) == pytest.approx((world - 1) / servers + (servers - 1) / servers)


@pytest.mark.parametrize(("world", "k", "depth"), [(8, 4, 2), (16, 4, 2), (32, 4, 3), (64, 4, 3), (64, 2, 6)])
def test_colors_take_twice_their_depth_and_transfer_at_most_two_vectors(world: int, k: int, depth: int) -> None:
    plan = colors.plan([range(world)], k=k)
    assert count_rounds(plan) == 2 * depth
    for direction in total_traffic(plan):
        assert max(direction) <= 2


@pytest.mark.parametrize(("hosts", "per_host", "k"), [(32, 4, 4), (32, 4, 8), (4, 2, 4), (6, 2, 3), (2, 4, 4)])
def test_colors_of_hosts_with_several_ranks_cross_each_link_at_most_twice(hosts: int, per_host: int, k: int) -> None:
    """Kumar et al. have one rank per host. With trees over all ranks, 8 vectors crossed the link of 32 hosts of 4."""
    ranks = hosts_of(hosts * per_host, hosts)
    network = Network(hosts=ranks, rate=25e6)
    assert price(colors.plan(ranks, k=k), network).link_share <= 2
    assert colors.plan(ranks, k=k).shape == {"k": min(k, hosts)}


def test_one_tree_has_k_times_the_load_of_k_colors() -> None:
    """In a single 4-ary tree the root receives 4 vectors; 4 colors divide this load."""
    single = colors.Tree(range(64), 4)
    received = np.zeros(64)
    for sends in map(Sends.of, single.reduce(range(1))):
        received += np.bincount(sends.dst_M, sends.size_M, 64)
    assert received.max() == 4


def test_servers_to_hide_gives_the_number_of_the_lemma() -> None:
    """N_ps >= 2 S N_w / (B T_c): 8 workers of 100 MB each over 1.25 GB/s links, one second of compute."""
    assert server.servers_to_hide(100e6, workers=8, rate=1.25e9, compute_s=1.0) == 2
    assert server.servers_to_hide(100e6, workers=8, rate=1.25e9, compute_s=0.1) == 13
