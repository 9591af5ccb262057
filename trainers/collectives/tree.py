"""Binomial reduction tree (Iandola et al., FireCaffe, 2015): pairs sum, then pairs of pairs, and back down.

Cost on n ranks, S bytes: 2 log2 n rounds of S bytes each, 2 S log2(n) / rate, where a parameter server takes
S n / rate. The fewest rounds there can be, but the root carries the whole vector log2 n times each way.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Send


def plan(hosts: Hosts) -> Plan:
    """One tree over all ranks; the first levels stay inside the hosts."""
    ranks = in_order(hosts)
    return Plan("tree", len(ranks), 1, lambda: allreduce(ranks, range(1)))


def allreduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` on ranks[0] and send the sum back to all `ranks`."""
    yield from reduce(ranks, chunks)
    yield from broadcast(ranks, chunks)


def reduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over `ranks` on ranks[0]."""
    for child, distance in _levels(len(ranks)):
        yield [Send(ranks[i], ranks[i - distance], chunks, add=True) for i in child]


def broadcast(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Send `chunks` from ranks[0] to all `ranks`."""
    for child, distance in reversed(_levels(len(ranks))):
        yield [Send(ranks[i - distance], ranks[i], chunks, add=False) for i in child]


def _levels(n: int) -> list[tuple[range, int]]:
    """The places that report at each level, and how far before them their parent is."""
    distances = [1 << level for level in range((n - 1).bit_length())]
    return [(range(distance, n, 2 * distance), distance) for distance in distances]
