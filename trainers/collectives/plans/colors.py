"""Multi-color all-reduce (Kumar et al., 2017): the vector in k colors, each summed on its own k-ary tree of hosts.

In the tree of color c on n hosts, node p = 0 .. n - 1 has the parent (p - 1) // k, and is host (p + c (n // k)) mod n.
A host is an interior node (it adds) in at most one color, and a leaf in all other colors, so the sums and the traffic
are balanced: each host sends and receives at most 2 S bytes, in 2 depth rounds with depth = log_k n. A ring takes
2 (n - 1) rounds.

The paper has one rank per host. If hosts have several ranks, each host first scatters its sum over its ranks; then the
ranks with the same part have k trees over the hosts; at last each host gathers. So 2 S bytes cross the link of a host,
whatever the number of its ranks. All ranks of a single host are the nodes of its trees.

Difference from the paper: the paper's trees share no interior host only if n mod k is 0 or 1. For other n, the trees
here have the least arity a with ceil((n - 1) / a) <= n // k; then they share no interior host for any k up to n.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from math import lcm

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Integers, Plan, Round, Send, Sends, run_in_parallel, split
from trainers.collectives.plans import ring
from trainers.collectives.plans.torus import columns


def plan(hosts: Hosts, *, k: int) -> Plan:
    """Return the plan with `k` colors, or one per host if there are fewer hosts.

    Raise ValueError unless k is from 1 to the number of ranks.
    """
    ranks = ranks_in_order(hosts)
    arity(len(ranks), k)  # raises an error here instead of in the first round
    if len(hosts) == 1:
        return Plan("colors", len(ranks), k, lambda own: allreduce(ranks, range(k), k=k, own=own), {"k": k})
    k = min(k, len(hosts))
    chunks = lcm(*map(len, hosts)) * k
    return Plan("colors", len(ranks), chunks, lambda own: over_hosts(hosts, range(chunks), k=k, own=own), {"k": k})


def over_hosts(hosts: Hosts, chunks: range, *, k: int, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` in each host, scattered over its ranks, then each part on `k` trees over the hosts, and gather."""
    yield from run_in_parallel(*(ring.reduce_scatter(host, chunks, own) for host in hosts), own=own)
    parts = [_from_host(number, *column) for number, column in enumerate(columns(hosts, chunks))]
    yield from run_in_parallel(*(allreduce(ranks, part, k=k, own=own) for ranks, part in parts), own=own)
    yield from run_in_parallel(*(ring.all_gather(host, chunks, own) for host in hosts), own=own)


def _from_host(first: int, ranks: Sequence[int], part: range) -> tuple[list[int], range]:
    """Begin the order of the ranks at another host for each part, so that all hosts are interior nodes alike."""
    start = first % len(ranks)
    return [*ranks[start:], *ranks[:start]], part


def allreduce(ranks: Sequence[int], chunks: range, *, k: int, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over `ranks`: a k-th of the chunks on each tree, on all trees at the same time."""
    if own is not None:
        sums = _own_rounds(ranks, chunks, k=k, own=own)
        yield from reversed(sums)
        yield from ([Send(send.dst, send.src, send.chunks, add=False) for send in sends] for sends in sums)
        return
    trees = [Tree(rotated, arity(len(ranks), k)) for rotated in rotations(ranks, k)]
    interior = [rank for tree in trees for rank in tree.interior]
    assert len(interior) == len(set(interior)), f"{len(ranks)} ranks: trees of {k} colors share an interior rank"
    colors = list(zip(trees, split(chunks, k), strict=True))
    yield from run_in_parallel(*(tree.reduce(color) for tree, color in colors))
    yield from run_in_parallel(*(tree.broadcast(color) for tree, color in colors))


def _own_rounds(ranks: Sequence[int], chunks: range, *, k: int, own: int) -> list[list[Send]]:
    """Return the sends from and to `own` on the way to the roots, by the depth of the sender: 1, 2, ..."""
    if own not in ranks:
        return []
    n, index, children = len(ranks), ranks.index(own), arity(len(ranks), k)
    starts = [1]  # the first node at each depth from 1
    while starts[-1] * children + 1 < n:
        starts.append(starts[-1] * children + 1)
    rounds: list[list[Send]] = [[] for _ in starts] if n > 1 else []
    for color, part in enumerate(split(chunks, k)):
        shift = color * (n // k)
        node = (index - shift) % n
        if node:
            parent = ranks[((node - 1) // children + shift) % n]
            rounds[bisect(starts, node) - 1].append(Send(own, parent, part, add=True))
        for child in range(node * children + 1, min(n, (node + 1) * children + 1)):
            rounds[bisect(starts, child) - 1].append(Send(ranks[(child + shift) % n], own, part, add=True))
    return rounds


def arity(n: int, k: int) -> int:
    """Return the least number of children with which `k` trees on `n` ranks share no interior rank."""
    if not 1 <= k <= n:
        raise ValueError(f"{n} ranks cannot have {k} colors: k must be from 1 to {n}")
    return max(1, -(-(n - 1) // (n // k)))


def rotations(ranks: Sequence[int], k: int) -> list[list[int]]:
    """Return the ranks of each color's tree, node by node: each color rotates the ranks by n // k more."""
    n = len(ranks)
    return [[ranks[(node + color * (n // k)) % n] for node in range(n)] for color in range(k)]


class Tree:
    """A tree over `ranks` with `arity` children: node 0 is the root, the parent of node p is (p - 1) // arity."""

    def __init__(self, ranks: Sequence[int], arity: int) -> None:
        self.interior = ranks[: -(-(len(ranks) - 1) // arity)]
        self._rank_n, self._arity = np.array(ranks), arity

    def reduce(self, chunks: range) -> Iterator[Round]:
        """Sum `chunks` on the root, the deepest level first."""
        for child, parent in reversed(list(self._levels())):
            yield Sends.with_same_chunks(child, parent, chunks, add=True)

    def broadcast(self, chunks: range) -> Iterator[Round]:
        """Send `chunks` from the root to all ranks."""
        for child, parent in self._levels():
            yield Sends.with_same_chunks(parent, child, chunks, add=False)

    def _levels(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield the ranks at depth 1, 2, ... and their parents."""
        start, n = 1, len(self._rank_n)
        while start < n:
            stop = start * self._arity + 1
            node = np.arange(start, min(stop, n))
            yield self._rank_n[node], self._rank_n[(node - 1) // self._arity]
            start = stop
