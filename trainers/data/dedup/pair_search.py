"""PairSearch: unite all similar hashes that agree in a key.

A sort brings the hashes with equal keys together, in runs. Runs of about the same length lie side by side as the
columns of a matrix, and each step compares all rows with those `step` rows below: long vector operations on numbers
that stay in the processor's cache. The few long runs are compared as tiles of rows and columns. Two things keep large
groups of similar hashes from costs that grow with the square of their size: runs of one group are skipped, and a long
run is ordered by its groups, of which only different ones are compared.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trainers.data.dedup.hashes import Words
from trainers.data.dedup.keys import Places, make_key
from trainers.data.dedup.union_find import Integers, UnionFind

LONGEST_COLUMN = 256
GROWTH = 1.15  # of the lengths that share a matrix: its columns are filled up to the longest one
TILE = 1 << 15  # pairs of an operation: several arrays of so many words fit into a cache of 2 MiB
LEADERS = 16  # hashes of a long run that are compared with all others before the run is ordered by its groups
MANY = 4  # similar pairs for one of so many hashes are united at once, because they may make runs one group

Flags = NDArray[np.bool_]


class _Arranged(NamedTuple):
    """The hashes in the order of their groups at some time, so that a run of a key has its groups one after another."""

    number_N: Integers
    words: list[NDArray[np.uint64]]
    root_N: Integers  # at that time


class _Runs(NamedTuple):
    place_P: Integers  # of the hashes, run by run
    start_R: Integers
    length_R: Integers


class PairSearch:
    """The search for similar pairs among different hashes."""

    def __init__(self, hash_UW: Words, threshold: int) -> None:
        self.groups = UnionFind(len(hash_UW))
        self.compared = 0  # pairs of hashes
        self.hash_UW, self.threshold = hash_UW, threshold
        self._passes = 0
        number_N = np.arange(len(hash_UW))
        self._arranged = _Arranged(number_N, list(np.ascontiguousarray(hash_UW.T)), number_N)

    def unite_by(self, places: Places) -> None:
        """Unite all similar pairs that agree in the bits of a key."""
        arranged = self._arranged
        runs = _sort_by(arranged, places)
        order_R = np.argsort(kind_R := _kind_of(runs.length_R), kind="stable")
        first_K = np.searchsorted(kind_R[order_R], np.arange(len(LENGTHS) + 2))
        for kind, length in enumerate(LENGTHS):
            self._unite_columns(arranged, runs, order_R[first_K[kind] : first_K[kind + 1]], length)
        for run in order_R[first_K[-2] :].tolist():
            start = runs.start_R[run]
            self._unite_long(arranged, runs.place_P[start : start + runs.length_R[run]])
        self._passes += 1
        if not self._passes & (self._passes - 1):  # most groups are found by the first keys
            self.arrange()

    def arrange(self) -> None:
        """Order the hashes by the groups that are known now."""
        root_N = self.groups.roots()
        before = self._arranged
        order_N = np.argsort(root_N[before.number_N], kind="stable")
        number_N = before.number_N[order_N]
        self._arranged = _Arranged(number_N, [word_N[order_N] for word_N in before.words], root_N[number_N])

    def _unite_columns(self, arranged: _Arranged, runs: _Runs, run_R: Integers, length: int) -> None:
        width = max(1, TILE // length)
        row_L1 = np.arange(length)[:, None]
        for first in range(0, len(run_R), width):
            part_R = run_R[first : first + width]
            # a short column goes on with hashes of other runs: they cost comparisons, and what is similar is similar
            place_LR = runs.place_P[np.minimum(runs.start_R[part_R] + row_L1, len(runs.place_P) - 1)]
            self._unite_matrix(arranged, place_LR, row_L1 < runs.length_R[part_R])

    def _unite_matrix(self, arranged: _Arranged, place_LR: Integers, is_own_LR: Flags) -> None:
        near, edges = _Near(arranged, self.threshold), _Edges(self.groups, arranged.number_N)
        words, root_LR = near.take(place_LR), arranged.root_N[place_LR]
        found, step = 0, 1
        while step < len(place_LR):
            one_LR, other_LR = place_LR[:-step], place_LR[step:]
            self.compared += one_LR.size
            hit_E = near.hits([word_LR[:-step] for word_LR in words], [word_LR[step:] for word_LR in words])
            hit_E = hit_E[root_LR[:-step].reshape(-1)[hit_E] != root_LR[step:].reshape(-1)[hit_E]]
            found += edges.add(*near.confirm(one_LR.reshape(-1)[hit_E], other_LR.reshape(-1)[hit_E]))
            step += 1
            if found > place_LR.size // MANY:
                edges.unite()
                found = 0
                root_LR = self.groups.find(arranged.number_N[place_LR])
                is_open_R = ((root_LR != root_LR[0]) & is_own_LR).any(axis=0)
                place_LR, is_own_LR, root_LR = place_LR[:, is_open_R], is_own_LR[:, is_open_R], root_LR[:, is_open_R]
                words = [np.ascontiguousarray(word_LR[:, is_open_R]) for word_LR in words]
        edges.unite()

    def _unite_long(self, arranged: _Arranged, place_P: Integers) -> None:
        """Unite the pairs of a long run: those of a few hashes with all, then those of different groups."""
        leader_L = place_P[:: -(-len(place_P) // LEADERS)]
        self._unite_tile(arranged, leader_L, place_P)
        place_P, next_P = self._by_group(arranged, place_P)
        first = 0
        while first < len(place_P) and (column := int(next_P[first])) < len(place_P):
            rows = max(1, TILE // (len(place_P) - column))
            found = self._unite_tile(arranged, place_P[first : first + rows], place_P[column:])
            first += rows
            if found > (len(place_P) - column) // MANY and first < len(place_P):
                place_P, next_P = self._by_group(arranged, place_P[first:])
                first = 0

    def _by_group(self, arranged: _Arranged, place_P: Integers) -> tuple[Integers, Integers]:
        """Return the hashes in the order of their groups, and for each one where the next group begins."""
        root_P = self.groups.find(arranged.number_N[place_P])
        order_P = np.argsort(root_P, kind="stable")
        root_P = root_P[order_P]
        return place_P[order_P], np.searchsorted(root_P, root_P, side="right")

    def _unite_tile(self, arranged: _Arranged, one_A: Integers, other_B: Integers) -> int:
        """Unite the similar ones of all pairs that are of different groups; return their number."""
        near, edges = _Near(arranged, self.threshold), _Edges(self.groups, arranged.number_N)
        root_A, root_B = (self.groups.find(arranged.number_N[place]) for place in (one_A, other_B))
        words_B, found = near.take(other_B), 0
        rows = max(1, TILE // len(other_B))
        self.compared += len(one_A) * len(other_B)
        for first in range(0, len(one_A), rows):
            part_A = one_A[first : first + rows]
            hit_E = near.hits([word_A[:, None] for word_A in near.take(part_A)], words_B)
            row_E, column_E = np.divmod(hit_E, len(other_B))
            differs_E = root_A[first + row_E] != root_B[column_E]
            found += edges.add(*near.confirm(part_A[row_E[differs_E]], other_B[column_E[differs_E]]))
        edges.unite()
        return found


class _Near:
    """The comparison of pairs: by the first half of their words, and by the others if these are similar."""

    def __init__(self, arranged: _Arranged, threshold: int) -> None:
        half = max(1, len(arranged.words) // 2)
        self._first, self._rest = arranged.words[:half], arranged.words[half:]
        self._words, self._threshold = arranged.words, threshold

    def take(self, place: Integers) -> list[NDArray[np.uint64]]:
        """Return the first words of some hashes."""
        return [word_N[place] for word_N in self._first]

    def hits(self, one: list[NDArray[np.uint64]], other: list[NDArray[np.uint64]]) -> Integers:
        """Return the flat places of the pairs that may be similar."""
        differing = np.bitwise_count(one[0] ^ other[0])
        for word_one, word_other in zip(one[1:], other[1:], strict=True):
            differing += np.bitwise_count(word_one ^ word_other)
        return np.flatnonzero(differing <= self._threshold)

    def confirm(self, one_E: Integers, other_E: Integers) -> tuple[Integers, Integers]:
        """Return the similar ones of some pairs."""
        if not self._rest or not len(one_E):
            return one_E, other_E
        distance_E = np.zeros(len(one_E), np.int64)
        for word_N in self._words:
            distance_E += np.bitwise_count(word_N[one_E] ^ word_N[other_E])
        near_E = distance_E <= self._threshold
        return one_E[near_E], other_E[near_E]


class _Edges:
    """Similar pairs that are gathered before they are united."""

    def __init__(self, groups: UnionFind, number_N: Integers) -> None:
        self._groups, self._number_N = groups, number_N
        self._gathered: list[tuple[Integers, Integers]] = []

    def add(self, one_E: Integers, other_E: Integers) -> int:
        """Keep pairs of places; return their number."""
        if len(one_E):
            self._gathered.append((one_E, other_E))
        return len(one_E)

    def unite(self) -> None:
        """Unite the pairs that were gathered."""
        if self._gathered:
            one_E, other_E = (np.concatenate(ends) for ends in zip(*self._gathered, strict=True))
            self._groups.union(self._number_N[one_E], self._number_N[other_E])
            self._gathered.clear()


def _make_lengths() -> list[int]:
    lengths = [2]
    while lengths[-1] < LONGEST_COLUMN:
        lengths.append(min(LONGEST_COLUMN, max(lengths[-1] + 1, round(lengths[-1] * GROWTH))))
    return lengths


LENGTHS = _make_lengths()


def _kind_of(length_R: Integers) -> NDArray[np.uint8]:
    """Return which of LENGTHS holds each run, len(LENGTHS) for a long one."""
    return np.searchsorted(LENGTHS, length_R).astype(np.uint8)


def _sort_by(arranged: _Arranged, places: Places) -> _Runs:
    """Return the hashes run by run, and the runs of several hashes that are not known to be one group."""
    key_N = make_key(arranged.words, places)
    shift = np.uint64(len(key_N).bit_length())
    # key and place in one word, because a sort of words is many times faster than one that returns the order
    packed_N = np.sort((key_N << shift) | np.arange(len(key_N), dtype=np.uint64))
    place_N = (packed_N & ((np.uint64(1) << shift) - np.uint64(1))).astype(np.int64)
    packed_N >>= shift
    start_R = np.flatnonzero(np.concatenate([[True], packed_N[1:] != packed_N[:-1]]))
    length_R = np.diff(start_R, append=len(packed_N))
    several_R = length_R > 1
    start_R, length_R = start_R[several_R], length_R[several_R]
    # places are in the order of the groups, so a run whose ends are of one group is of one group
    is_open_R = arranged.root_N[place_N[start_R]] != arranged.root_N[place_N[start_R + length_R - 1]]
    return _Runs(place_N, start_R[is_open_R], length_R[is_open_R])
