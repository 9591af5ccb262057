"""Recursive halving and doubling (Rabenseifner, 2004; Thakur et al., 2005): halve what you sum, double whom you reach.

Cost on n = 2^m ranks, S bytes: 2 log2 n rounds, each rank sends and receives 2 S (n - 1) / n bytes: the fewest rounds
and the fewest bytes at once, but over long ways. Neighbors trade first, so the large halves stay inside the hosts.

For any other n, with r = n - 2^m: the first 2 r ranks fold in pairs before, and unfold after, 2 rounds of S bytes.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Send, split


def plan(hosts: Hosts) -> Plan:
    """Halving and doubling over all ranks."""
    ranks = in_order(hosts)
    chunks = _power_of_two(len(ranks))
    return Plan("halving_doubling", len(ranks), chunks, lambda: allreduce(ranks, range(chunks)))


def allreduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on every one of them."""
    rest = len(ranks) - _power_of_two(len(ranks))
    folded, kept = ranks[1 : 2 * rest : 2], ranks[0 : 2 * rest : 2]
    if rest:
        yield [Send(away, home, chunks, add=True) for away, home in zip(folded, kept, strict=True)]
    among = [*kept, *ranks[2 * rest :]]
    yield from halve(among, chunks)
    yield from double(among, chunks)
    if rest:
        yield [Send(home, away, chunks, add=False) for away, home in zip(folded, kept, strict=True)]


def halve(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Leave a share of `chunks`, summed over the 2^m `ranks`, on each: give one half away, sum the other."""
    held = [chunks] * len(ranks)
    for distance in _distances(len(ranks)):
        halves = [split(mine, 2) for mine in held]
        upper = [bool(i & distance) for i in range(len(ranks))]  # these keep the second half
        yield [Send(ranks[i], ranks[i ^ distance], halves[i][not upper[i]], add=True) for i in range(len(ranks))]
        held = [halves[i][upper[i]] for i in range(len(ranks))]


def double(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Spread the shares that `halve` left: its sends, backwards."""
    for sends in reversed(list(halve(ranks, chunks))):
        yield [Send(send.dst, send.src, send.chunks, add=False) for send in sends]


def _distances(n: int) -> list[int]:
    return [1 << bit for bit in range(n.bit_length() - 1)]


def _power_of_two(n: int) -> int:
    return 1 << (n.bit_length() - 1)
