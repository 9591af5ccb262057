"""Group hashes: two hashes share a group if a chain of hashes connects them whose steps are at most `threshold` bits.

Equal hashes are united first. The different ones are sorted by each key of trainers/data/dedup/keys.py, and within a
run of equal keys the pairs of different groups are compared (trainers/data/dedup/pair_search.py). With exact keys the
groups are those that a comparison of all pairs finds; with random keys a pair may be missed, with the probability that
trainers/data/dedup/keys.py states, and a group falls apart only if all its chains miss a pair.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from trainers.data.dedup.hashes import WORD_BITS, Words
from trainers.data.dedup.keys import FEW, Keys, Places, choose_keys, random_places
from trainers.data.dedup.pair_search import PairSearch
from trainers.data.dedup.union_find import Integers

Progress = Callable[[int, int], None]  # sorts done, and all sorts
FIRST_KEYS, FIRST_BITS = 2, 20  # that find the large groups
SHARES = 8  # of the keys, for each process: each ends with the message of all roots


def group_hashes(
    hash_NW: Words, threshold: int, *, exact: bool = False, processes: int = 1, progress: Progress | None = None
) -> Integers:
    """Return for each hash the smallest number of a hash in its group; raise ValueError for a negative threshold.

    `exact`: no pair may be missed, however long the search takes.
    """
    if threshold < 0:
        raise ValueError(f"the threshold is a number of bits of at least 0, not {threshold}")
    if len(hash_NW) == 0:
        return np.arange(0)
    unique_UW, first_U, unique_of_N = _unite_equal(hash_NW)
    if threshold >= hash_NW.shape[1] * WORD_BITS:
        return np.zeros(len(hash_NW), np.int64)
    root_U = np.arange(len(unique_UW))
    if threshold > 0 and len(unique_UW) > 1:
        search, keys = prepare_search(unique_UW, threshold, exact=exact)
        root_U = unite_by_keys(search, keys, processes=processes, progress=progress)
    # the smallest number of a group's unique hashes is not that of its first image
    first_of_root_U = np.full(len(unique_UW), len(hash_NW))
    np.minimum.at(first_of_root_U, root_U, first_U)
    return first_of_root_U[root_U][unique_of_N]


class _Unique(NamedTuple):
    hash_UW: Words
    first_U: Integers
    unique_of_N: Integers


def _unite_equal(hash_NW: Words) -> _Unique:
    order_N = np.lexsort(hash_NW.T)  # equal hashes stay in the order of their numbers
    sorted_NW = hash_NW[order_N]
    is_first_N = np.concatenate([[True], (sorted_NW[1:] != sorted_NW[:-1]).any(axis=1)])
    unique_of_N = np.empty(len(hash_NW), np.int64)
    unique_of_N[order_N] = np.cumsum(is_first_N) - 1
    return _Unique(sorted_NW[is_first_N], order_N[is_first_N], unique_of_N)


def prepare_search(hash_UW: Words, threshold: int, *, exact: bool = False) -> tuple[PairSearch, Keys]:
    """Return the search in different hashes, in which most large groups are found, and the keys that it needs."""
    search = PairSearch(hash_UW, threshold)
    if len(hash_UW) > FEW:
        # any keys find large groups, whose pairs are the most, and which cost little once they are known
        for places in random_places(hash_UW.shape[1] * WORD_BITS, FIRST_BITS, FIRST_KEYS):
            search.unite_by(places)
    return search, choose_keys(hash_UW, threshold, exact=exact, root_N=search.groups.roots())


def group_by_keys(hash_UW: Words, threshold: int, keys: Keys, *, processes: int = 1) -> Integers:
    """Return the groups that these keys find."""
    return unite_by_keys(PairSearch(hash_UW, threshold), keys, processes=processes)


def unite_by_keys(search: PairSearch, keys: Keys, *, processes: int = 1, progress: Progress | None = None) -> Integers:
    """Search by these keys, in several processes if there are many hashes; return the groups."""
    if processes == 1 or len(search.hash_UW) <= FEW:
        for done, places in enumerate(keys.places, start=1):
            search.unite_by(places)
            _report(progress, done, keys)
        return search.groups.roots()
    # processes, because numpy's short operations wait for Python's lock in threads: 1.35 of 2 cores were at work
    share = max(1, -(-len(keys.places) // (processes * SHARES)))
    shares = [keys.places[first : first + share] for first in range(0, len(keys.places), share)]
    start = (search.hash_UW, search.threshold, search.groups.roots())
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_start, initargs=start) as pool:
        done = 0
        for count, root_U in pool.map(_unite_share, shares):
            # each process has found its own groups, which together are those of all keys
            search.groups.union(np.arange(len(root_U)), root_U)
            _report(progress, done := done + count, keys)
    return search.groups.roots()


def _report(progress: Progress | None, done: int, keys: Keys) -> None:
    if progress is not None:
        progress(done, len(keys.places))


_own: PairSearch | None = None  # of a process of the pool


def _start(hash_UW: Words, threshold: int, root_U: Integers) -> None:
    global _own
    _own = PairSearch(hash_UW, threshold)
    _own.groups.union(np.arange(len(root_U)), root_U)
    _own.arrange()


def _unite_share(places: Sequence[Places]) -> tuple[int, Integers]:
    assert _own is not None
    for one in places:
        _own.unite_by(one)
    return len(places), _own.groups.roots()
