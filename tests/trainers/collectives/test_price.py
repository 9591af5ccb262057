"""price() gives the alpha-beta-gamma formula of each paper, is never below the bound, and is fast for many ranks."""

import time
from collections import Counter
from dataclasses import replace
from math import inf, log2
from typing import Any

import pytest

from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Operation, Plan
from trainers.collectives.plans import blocks, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import choose, price
from trainers.collectives.runners.segments import SEGMENT_BYTES, segment_counts, segment_lengths

pytestmark = pytest.mark.ring("quick")

ALPHA, BETA, GAMMA, OVERHEAD = 50e-6, 1 / 1e9, 1 / 8e9, 3e-6
S = 1e8


def network(hosts: int, ranks_per_host: int = 1, **other: Any) -> Network:
    defaults = {"rate": 1 / BETA, "add_rate": 1 / GAMMA, "latency_s": ALPHA, "message_s": OVERHEAD}
    return Network(hosts=hosts_of(hosts * ranks_per_host, hosts), **{**defaults, **other})


@pytest.mark.parametrize("n", [2, 4, 8, 64])
def test_one_segment_costs_what_the_paper_states(n: int) -> None:
    """Thakur et al., 2005, with one rank per host; a rank that sends and receives in one round pays 2 o."""
    hosts, net = [[rank] for rank in range(n)], network(n)
    share = (n - 1) / n * S
    costs = [
        (ring.plan(hosts), 2 * (n - 1) * (ALPHA + 2 * OVERHEAD) + 2 * share * BETA + share * GAMMA),
        (halving_doubling.plan(hosts), 2 * log2(n) * (ALPHA + 2 * OVERHEAD) + 2 * share * BETA + share * GAMMA),
        (tree.plan(hosts), 2 * log2(n) * (ALPHA + OVERHEAD + S * BETA) + log2(n) * S * GAMMA),
        (server.plan(hosts), 2 * (n - 1) * (ALPHA + OVERHEAD + S * BETA) + (n - 1) * S * GAMMA),
    ]
    for plan, seconds in costs:
        assert price(plan, net).seconds(S, 1) == pytest.approx(seconds), plan.kind


@pytest.mark.parametrize("shape", [(1, 1), (1, 8), (2, 2), (2, 4), (4, 2), (3, 5), (16, 4)])
def test_no_plan_is_faster_than_the_bound(shape: tuple[int, int]) -> None:
    net = network(*shape, latency_s=0.0, inside_latency_s=0.0, message_s=0.0, add_rate=1e30)
    for plan in candidates(net.hosts):
        assert price(plan, net).seconds(S) >= net.bound_s(S) * (1 - 1e-9), plan


@pytest.mark.parametrize("operation", ["all_gather", "reduce_scatter", "broadcast", "reduce"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 8), (2, 2), (4, 2), (3, 5)])
def test_no_plan_of_another_operation_is_faster_than_its_bound(operation: Operation, shape: tuple[int, int]) -> None:
    net = network(*shape, latency_s=0.0, inside_latency_s=0.0, message_s=0.0, add_rate=1e30)
    for plan in blocks.plans(operation, net.hosts):
        assert price(plan, net).seconds(S) >= net.bound_s(S, operation) * (1 - 1e-9), plan


def test_the_torus_is_near_the_bound_for_large_vectors_on_hosts_of_several_ranks() -> None:
    net = network(2, 4, rate=25e6)
    assert price(torus.plan(net.hosts), net).seconds(16 << 20) < 1.02 * net.bound_s(16 << 20)
    assert price(ring.plan(net.hosts), net).seconds(16 << 20) > 1.7 * net.bound_s(16 << 20)


def test_a_plan_with_few_rounds_is_cheapest_for_small_vectors() -> None:
    net = network(16)
    assert choose(candidates(net.hosts), net, 4096).rounds <= 2 * log2(16)


def test_groups_are_faster_than_a_large_ring_for_small_vectors_and_slower_for_large_ones() -> None:
    """Jia et al., 2018: groups of 16 among 1,024 ranks of a flat network, in one segment."""
    net = network(1024)
    one_ring, groups = (price(plan, net) for plan in (ring.plan(net.hosts), hierarchical.plan(net.hosts, group=16)))
    assert groups.seconds(1e6, 1) < one_ring.seconds(1e6, 1) / 5
    assert groups.seconds(1e9, 1) > one_ring.seconds(1e9, 1)


def test_ranks_of_a_host_share_its_cores_for_copies() -> None:
    """Two ranks exchange halves and add, then exchange the sums: each rank copies 3 S / 2."""
    free = {"inside_rate": inf, "inside_latency_s": 0.0, "message_s": 0.0, "copy_rate": 4e9}
    work_s = 1.5 * S / 4e9 + S / 2 * GAMMA
    for cores, slower in ((2, 1), (1, 2), (0.5, 4)):
        net = network(1, 2, cores=cores, **free)
        assert price(ring.plan(net.hosts), net).seconds(S, 1) == pytest.approx(slower * work_s)


@pytest.mark.parametrize("size_bytes", [4, 4096, 1 << 20, 16 << 20])
def test_runner_seconds_is_the_price_of_the_runners_segments(size_bytes: int) -> None:
    net = network(2, 2)
    found = price(torus.plan(net.hosts), net)
    parts = [4 * length for length in segment_lengths(size_bytes // 4, 4)]
    assert sum(parts) == size_bytes
    one_each = [found.seconds(part, 1) for part in parts]
    assert max(one_each) <= found.runner_seconds(size_bytes) <= sum(one_each)


def test_segments_are_short_at_both_ends_and_cover_the_vector() -> None:
    for elements in (0, 1, 3 << 19, 4 << 20, 10_000_019):
        assert sum(segment_lengths(elements, 4)) == elements
    found = segment_lengths(4 << 20, 4)
    assert found[-3:] == found[2::-1]
    assert found[:4] == sorted(found[:4])
    assert found[0] < max(found) / 4
    assert max(found) <= SEGMENT_BYTES // 4


@pytest.mark.parametrize("elements", [1, 7, 524_288, 524_289, 2_000_000, 2_359_296, 25_000_000, 25_000_001])
def test_segments_are_counted_as_they_are_cut(elements: int) -> None:
    lengths = segment_lengths(elements, 4)
    counts = segment_counts(elements, 4)
    assert counts == Counter(lengths)
    assert next(iter(counts)) == lengths[0]


def test_equal_rounds_cost_the_same_as_rounds_that_are_evaluated_separately() -> None:
    net = network(3, 4)
    for plan in candidates(net.hosts):
        separate = replace(plan, make=lambda _, plan=plan: [list(sends) for sends in plan])
        assert price(separate, net).seconds(S) == pytest.approx(price(plan, net).seconds(S))


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("shape", [(512, 8), (4096, 1)])
@pytest.mark.ring("all")
def test_every_plan_of_4096_ranks_is_priced_within_ten_seconds(shape: tuple[int, int]) -> None:
    """Bound the growth: one call per send instead of one per round takes minutes here; the slowest plan takes 2 s."""
    net = network(*shape)
    for plan in candidates(net.hosts):
        started = time.process_time()
        assert price(plan, net).seconds(S) > net.bound_s(S)
        assert time.process_time() - started < 10, plan


def test_price_rejects_a_network_with_another_number_of_ranks() -> None:
    with pytest.raises(ValueError, match="the plan has 4 ranks, but the network has 2"):
        price(ring.plan([range(4)]), network(2))


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"rate": 0.0}, "rate must be above 0 bytes/s, not 0"), ({"hosts": [[0, 2]]}, "each rank from 0 to 1 once")],
)
def test_an_impossible_network_is_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Network(**{"hosts": [[0, 1]], "rate": 1.0, **fields})


def test_candidates_are_all_different() -> None:
    for hosts in (hosts_of(1, 1), hosts_of(4, 1), hosts_of(4, 2), hosts_of(12, 12), hosts_of(24, 3)):
        plans: list[Plan] = list(candidates(hosts))
        assert len({(plan.kind, *plan.shape.items()) for plan in plans}) == len(plans)
