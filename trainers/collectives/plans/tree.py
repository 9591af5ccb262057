"""Binomial reduction tree (Iandola et al., FireCaffe, 2015): pairs sum, then pairs of pairs, and back down.

Cost on n ranks, S bytes: 2 log2 n rounds of S bytes each, 2 S log2(n) / rate, where a parameter server takes
S n / rate. The fewest rounds there can be, but the root carries the whole vector log2 n times each way.

Over hosts there is a tree in each of them and one among their first ranks, so a vector crosses each link but once each
way, and the parts of a many-core chip are summed on it (You, Buluç & Demmel, 2017, section 6.2): with H hosts of P
ranks 2 (ceil(log2 P) + ceil(log2 H)) rounds, which is at most 2 more than one tree over all has.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Send, together


def plan(hosts: Hosts) -> Plan:
    """Trees inside the hosts, and one among their first ranks."""
    return Plan("tree", len(in_order(hosts)), 1, lambda: allreduce(hosts, range(1)))


def allreduce(hosts: Hosts, chunks: range) -> Iterator[Round]:
    """Sum `chunks` host by host, then on the first rank of the first host, and send the sum back the same way."""
    firsts = [host[0] for host in hosts]
    yield from together(*(reduce(host, chunks) for host in hosts))
    yield from reduce(firsts, chunks)
    yield from broadcast(firsts, chunks)
    yield from together(*(broadcast(host, chunks) for host in hosts))


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
