"""Groups of hashes are those that a comparison of all pairs finds, whatever bits the hashes have."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trainers.data.dedup.grouping import group_by_keys, group_hashes
from trainers.data.dedup.hashes import Words, distances
from trainers.data.dedup.keys import (
    FEW,
    MISSED,
    all_pairs,
    block_keys,
    choose_keys,
    count_random,
    cut_blocks,
    random_keys,
)
from trainers.data.dedup.pair_search import LEADERS, LONGEST_COLUMN, PairSearch
from trainers.data.dedup.union_find import UnionFind


def compare_all_pairs(hash_NW: Words, threshold: int) -> list[int]:
    """The oracle: the smallest number of each hash's component, by a walk over all similar pairs."""
    near_NN = [np.flatnonzero(distances(hash_NW, hash_W) <= threshold).tolist() for hash_W in hash_NW]
    group = [-1] * len(hash_NW)
    for number in range(len(hash_NW)):
        todo = [number] if group[number] < 0 else []
        while todo:
            other = todo.pop()
            if group[other] < 0:
                group[other] = number
                todo += near_NN[other]
    return group


def near_copies(rng: np.random.Generator, n: int, words: int, *, centers: int, flips: int) -> Words:
    """Hashes around some centers, each with up to `flips` flipped bits."""
    center_CB = rng.integers(0, 2, (centers, words * 64), dtype=np.uint8)
    bit_NB = center_CB[rng.integers(0, centers, n)]
    for bit_B in bit_NB:
        bit_B[rng.integers(0, words * 64, rng.integers(0, flips + 1))] ^= 1
    return np.packbits(bit_NB, axis=1).view(">u8").astype(np.uint64)


@pytest.mark.ring("all")
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    words=st.sampled_from([1, 4]),
    threshold=st.integers(0, 40),
    centers=st.integers(1, 40),
    flips=st.integers(0, 30),
)
@settings(max_examples=150, deadline=None)
def test_groups_equal_those_of_all_pairs(
    seed: int, n: int, words: int, threshold: int, centers: int, flips: int
) -> None:
    hash_NW = near_copies(np.random.default_rng(seed), n, words, centers=centers, flips=flips)
    assert group_hashes(hash_NW, threshold).tolist() == compare_all_pairs(hash_NW, threshold)


@pytest.mark.ring("all")
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 120),
    threshold=st.integers(1, 40),
    per_key=st.integers(1, 2),
    centers=st.integers(1, 40),
    flips=st.integers(0, 30),
)
@settings(max_examples=60, deadline=None)
def test_keys_of_blocks_miss_no_pair(seed: int, n: int, threshold: int, per_key: int, centers: int, flips: int) -> None:
    hash_NW = np.unique(near_copies(np.random.default_rng(seed), n, 1, centers=centers, flips=flips), axis=0)
    hash_NW &= np.uint64(0xFF00FFFF00FF0FFF)  # bits that never vary
    keys = block_keys(cut_blocks(np.ascontiguousarray(hash_NW.T), threshold + per_key), per_key)
    assert keys.is_exact
    assert group_by_keys(hash_NW, threshold, keys).tolist() == compare_all_pairs(hash_NW, threshold)


@pytest.mark.ring("all")
def test_random_keys_miss_as_few_pairs_at_the_threshold_as_they_promise() -> None:
    rng, pairs, threshold, size = np.random.default_rng(4), 20_000, 36, 20
    one_NW = rng.integers(0, 2**64, (pairs, 4), dtype=np.uint64)
    flips_NB = np.zeros((pairs, 256), np.uint8)
    flips_NB[:, :threshold] = 1
    flips_NB = rng.permuted(flips_NB, axis=1)
    other_NW = one_NW ^ np.packbits(flips_NB, axis=1).view(">u8").astype(np.uint64)
    keys = random_keys(256, size, count_random(256, threshold, size))
    root_N = group_by_keys(np.concatenate([one_NW, other_NW]), threshold, keys, processes=2)
    missed = (root_N[:pairs] != root_N[pairs:]).mean()
    assert 0 < missed < 3 * MISSED
    assert len(np.unique(root_N)) == pairs + missed * pairs  # no pair of others is found


def test_every_threshold_up_to_all_bits_is_grouped_exactly() -> None:
    hash_NW = near_copies(np.random.default_rng(2), 60, 1, centers=20, flips=30)
    for threshold in range(65):
        assert group_hashes(hash_NW, threshold, exact=True).tolist() == compare_all_pairs(hash_NW, threshold)


def test_a_large_cluster_is_not_compared_pair_by_pair() -> None:
    rng = np.random.default_rng(5)
    cluster_NW = np.unique(near_copies(rng, 3000, 4, centers=1, flips=10), axis=0)
    single_NW = rng.integers(0, 2**64, (20, 4), dtype=np.uint64)
    search = PairSearch(np.concatenate([cluster_NW, single_NW]), 20)
    search.unite_by(all_pairs().places[0])
    root_N = search.groups.roots()
    assert len(np.unique(root_N)) == 21
    # all pairs would be four million
    assert search.compared < 2 * (LEADERS + len(single_NW)) * len(root_N)


def test_a_run_of_one_group_is_not_compared_again() -> None:
    rng = np.random.default_rng(6)
    cluster_NW = np.unique(near_copies(rng, 200, 4, centers=1, flips=4), axis=0)
    search = PairSearch(cluster_NW, 20)
    search.unite_by(all_pairs().places[0])
    before = search.compared
    search.unite_by(all_pairs().places[0])
    assert 0 < before == search.compared


@pytest.mark.ring("all")
@given(
    seed=st.integers(0, 2**32 - 1),
    near=st.integers(0, 700),
    threshold=st.integers(1, 60),
    centers=st.integers(1, 6),
    flips=st.integers(0, 40),
    words=st.sampled_from([1, 4]),
)
@example(seed=0, near=4 * LONGEST_COLUMN, threshold=20, centers=1, flips=25, words=4)
@settings(max_examples=25, deadline=None)
def test_long_and_short_runs_are_compared_like_all_pairs(
    seed: int, near: int, threshold: int, centers: int, flips: int, words: int
) -> None:
    # few bits in a key of which many are equal: runs from two hashes to more than a column holds
    rng = np.random.default_rng(seed)
    hash_NW = near_copies(rng, near, words, centers=centers, flips=flips)
    hash_NW = np.unique(np.concatenate([hash_NW, rng.integers(0, 2**64, (200, words), dtype=np.uint64)]), axis=0)
    places = np.arange(1, 5)
    key_N = hash_NW[:, 0] >> np.uint64(59) & np.uint64(15)
    expected = UnionFind(len(hash_NW))
    one_E, other_E = np.triu_indices(len(hash_NW), 1)
    near_E = (distances(hash_NW[one_E], hash_NW[other_E]) <= threshold) & (key_N[one_E] == key_N[other_E])
    expected.union(one_E[near_E], other_E[near_E])
    search = PairSearch(hash_NW, threshold)
    search.unite_by(places)
    found = search.groups.roots()
    # a short run is compared with some hashes beside it as well, so more groups may be joined than those of the key
    everything = np.array(compare_all_pairs(hash_NW, threshold))
    assert (found[expected.roots()] == found).all()
    assert (everything[found] == everything).all()


@pytest.mark.ring("all")
@pytest.mark.parametrize("centers", [3, 2000])
def test_more_hashes_than_are_compared_one_by_one_are_grouped_as_by_all_pairs(centers: int) -> None:
    hash_NW = near_copies(np.random.default_rng(7), FEW + 4000, 1, centers=centers, flips=12)
    hash_NW = np.unique(hash_NW, axis=0)
    assert len(hash_NW) > FEW
    root_N = group_hashes(hash_NW, 6, processes=2)
    assert root_N.tolist() == group_by_keys(hash_NW, 6, all_pairs()).tolist()
    assert len(np.unique(root_N)) >= centers


@pytest.mark.ring("all")
def test_pairs_of_known_groups_do_not_count_in_the_choice_of_keys() -> None:
    rng, threshold = np.random.default_rng(8), 48
    cluster_NW = near_copies(rng, 20_000, 4, centers=1, flips=24)
    hash_NW = np.concatenate([cluster_NW, rng.integers(0, 2**64, (160_000, 4), dtype=np.uint64)])
    root_N = np.concatenate([np.zeros(20_000, np.int64), np.arange(20_000, 180_000)])
    unknown, known = (choose_keys(hash_NW, threshold, exact=False, root_N=root_N) for root_N in (None, root_N))
    # pairs of a large cluster agree in long keys too, so if they counted, few short keys would seem best
    assert len(known.places) > len(unknown.places)


def test_no_hash_makes_no_group() -> None:
    assert group_hashes(np.zeros((0, 4), np.uint64), 3).tolist() == []


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0, not -1"):
        group_hashes(np.zeros((2, 1), np.uint64), -1)


def test_the_keys_follow_the_number_of_hashes_and_the_threshold() -> None:
    hash_NW = np.random.default_rng(3).integers(0, 2**64, (200_000, 4), dtype=np.uint64)
    assert [len(one) for one in choose_keys(hash_NW[:500], 36, exact=False).places] == [0]
    assert choose_keys(hash_NW, 8, exact=False).is_exact
    assert not choose_keys(hash_NW, 60, exact=False).is_exact
    assert choose_keys(hash_NW, 60, exact=True).is_exact


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60), st.integers(1, 5))
def test_components_do_not_depend_on_the_batches_of_edges(edges: list[tuple[int, int]], batch: int) -> None:
    groups = UnionFind(31)
    for first in range(0, len(edges), batch):
        one_E, other_E = np.array(edges[first : first + batch]).T
        groups.union(one_E, other_E)
    root = list(range(31))
    for _ in range(31):
        for one, other in edges:
            root[one] = root[other] = min(root[one], root[other])
    assert groups.roots().tolist() == root
