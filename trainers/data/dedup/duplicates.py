"""Duplicates: groups of similar images, of which one is kept and the others are left out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contract.spec.dedup.options import DEFAULT_BITS, DEFAULT_HASH, DEFAULT_STAY, DEFAULT_THRESHOLD, HashKind, Stay
from trainers.data.dedup.grouping import Progress, group_hashes
from trainers.data.dedup.hashes import Words, distances

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class HashSettings:
    """How images are compared: `threshold` is the largest number of differing bits of two similar images."""

    kind: HashKind = DEFAULT_HASH
    bits: int = DEFAULT_BITS
    threshold: int = DEFAULT_THRESHOLD
    keep: Stay = DEFAULT_STAY
    exact: bool = False  # no similar pair may be missed, however long the search takes


@dataclass(frozen=True)
class Duplicates:
    """For each of N hashes the hash that is kept of its group: its own number, if it is kept or alone."""

    leader_of_N: Integers
    distance_N: Integers  # bits between each hash and the kept one of its group

    @property
    def leaders(self) -> Integers:
        """The numbers of the hashes that stay."""
        return np.flatnonzero(self.leader_of_N == np.arange(len(self.leader_of_N)))

    @property
    def ratio(self) -> float:
        """The share of hashes that is left out."""
        return 1 - len(self.leaders) / len(self.leader_of_N) if len(self.leader_of_N) else 0.0

    def groups(self) -> list[list[int]]:
        """Return the groups of several hashes, the largest first; the kept hash leads its group."""
        order_N = np.argsort(self.leader_of_N, kind="stable")
        starts = np.flatnonzero(np.diff(self.leader_of_N[order_N], prepend=-1))
        members = [part.tolist() for part in np.split(order_N, starts[1:]) if len(part) > 1]
        led = [sorted(group, key=lambda number: int(number != self.leader_of_N[number])) for group in members]
        return sorted(led, key=lambda group: -len(group))


def find_duplicates(
    hash_NW: Words,
    settings: HashSettings,
    *,
    pixels_N: Integers | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Duplicates:
    """Group the hashes and choose the kept one of each group: the first, or the first of those with most pixels."""
    root_N = group_hashes(hash_NW, settings.threshold, exact=settings.exact, processes=processes, progress=progress)
    leader_of_N = root_N
    if settings.keep == "largest":
        assert pixels_N is not None, "the largest image is chosen by the numbers of pixels"
        leader_of_N = _largest_of_group(root_N, pixels_N)
    return Duplicates(leader_of_N, distances(hash_NW, hash_NW[leader_of_N]))


def _largest_of_group(root_N: Integers, pixels_N: Integers) -> Integers:
    order_N = np.lexsort((np.arange(len(root_N)), -pixels_N, root_N))
    starts = np.flatnonzero(np.diff(root_N[order_N], prepend=-1))
    largest_of_root_N = np.zeros(len(root_N), np.int64)
    largest_of_root_N[root_N[order_N[starts]]] = order_N[starts]
    return largest_of_root_N[root_N]
