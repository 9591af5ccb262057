"""Multi-color all-reduce (Kumar et al., 2017): the vector in k colors, each summed on a k-ary tree of its own.

Color c of n ranks: place p = 0 .. n - 1 has its parent at (p - 1) // k, and rank (p + c (n // k)) mod n stands there.
A rank is interior (it sums) in at most one color and a leaf in the others, so sums and links are shared evenly:
each rank sends and receives 2 S bytes at most, in 2 depth rounds, depth = log_k n where a ring takes 2 (n - 1).

Departure: the paper's trees are disjoint inside only when n mod k is 0 or 1. For any other n the trees are made
wider, to the least arity a with ceil((n - 1) / a) <= n // k; then they are disjoint for every k up to n.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Integers, Plan, Round, Sends, split, together


def plan(hosts: Hosts, *, k: int) -> Plan:
    """`k` colors over all ranks."""
    ranks = in_order(hosts)
    arity(len(ranks), k)  # refuses what cannot be, here and not in the first round
    return Plan("colors", len(ranks), k, lambda: allreduce(ranks, range(k), k=k), {"k": k})


def allreduce(ranks: Sequence[int], chunks: range, *, k: int) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, a k-th of them on each tree, all trees at once."""
    trees = [Tree(places, arity(len(ranks), k)) for places in turns(ranks, k)]
    interior = [rank for tree in trees for rank in tree.interior]
    assert len(interior) == len(set(interior)), f"{len(ranks)} ranks: trees of {k} colors share an interior rank"
    colors = list(zip(trees, split(chunks, k), strict=True))
    yield from together(*(tree.reduce(color) for tree, color in colors))
    yield from together(*(tree.broadcast(color) for tree, color in colors))


def arity(n: int, k: int) -> int:
    """The children of an interior rank: the least number with which `k` trees on `n` ranks share no interior rank."""
    if not 1 <= k <= n:
        raise ValueError(f"{k} colors need at least {k} ranks, and there are {n}")
    return max(1, -(-(n - 1) // (n // k)))


def turns(ranks: Sequence[int], k: int) -> list[list[int]]:
    """For each color, who stands where: the ranks, turned by n // k from one color to the next."""
    n = len(ranks)
    return [[ranks[(place + color * (n // k)) % n] for place in range(n)] for color in range(k)]


class Tree:
    """A tree of `arity` over `ranks`: ranks[0] is the root, and the parent of place p is at (p - 1) // arity."""

    def __init__(self, ranks: Sequence[int], arity: int) -> None:
        self.interior = ranks[: -(-(len(ranks) - 1) // arity)]
        self._rank_n, self._arity = np.array(ranks), arity

    def reduce(self, chunks: range) -> Iterator[Round]:
        """Sum `chunks` on the root, the deepest level first."""
        for child, parent in reversed(list(self._levels())):
            yield Sends.alike(child, parent, chunks, add=True)

    def broadcast(self, chunks: range) -> Iterator[Round]:
        """Send `chunks` from the root to all."""
        for child, parent in self._levels():
            yield Sends.alike(parent, child, chunks, add=False)

    def _levels(self) -> Iterator[tuple[Integers, Integers]]:
        """The ranks at depth 1, 2, ... and their parents."""
        start, n = 1, len(self._rank_n)
        while start < n:
            stop = start * self._arity + 1
            place = np.arange(start, min(stop, n))
            yield self._rank_n[place], self._rank_n[(place - 1) // self._arity]
            start = stop
