"""Binomial-tree all-reduce (Iandola et al., FireCaffe, 2015): reduce to the root in pairs, then broadcast.

Cost on n ranks, S bytes: 2 log2 n rounds of S bytes each, so 2 S log2(n) / rate, where a parameter server takes
S n / rate. No plan has fewer rounds, but the root transfers the whole vector log2 n times in each direction.

Each host has a tree, and the first ranks of the hosts have a tree, so the vector crosses each host's link once in each
direction, and the parts of a many-core chip are summed on the chip (You, Buluç & Demmel, 2017, section 6.2). With H
hosts of P ranks this takes 2 (ceil(log2 P) + ceil(log2 H)) rounds, at most 2 more than one tree over all ranks.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Send, own_sends, run_in_parallel


def plan(hosts: Hosts) -> Plan:
    """Return a tree in each host, and a tree over the first ranks of the hosts."""
    return Plan("tree", len(ranks_in_order(hosts)), 1, lambda own: allreduce(hosts, range(1), own))


def allreduce(hosts: Hosts, chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` in each host, then over the hosts on the first rank, and send the sum back on the same path."""
    firsts = [host[0] for host in hosts]
    yield from run_in_parallel(*(reduce(host, chunks, own) for host in hosts), own=own)
    yield from reduce(firsts, chunks, own)
    yield from broadcast(firsts, chunks, own)
    yield from run_in_parallel(*(broadcast(host, chunks, own) for host in hosts), own=own)


def reduce(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over `ranks` on ranks[0]."""
    for child, distance in _levels(len(ranks)):
        yield own_sends([Send(ranks[i], ranks[i - distance], chunks, add=True) for i in child], own)


def broadcast(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send `chunks` from ranks[0] to all `ranks`."""
    for child, distance in reversed(_levels(len(ranks))):
        yield own_sends([Send(ranks[i - distance], ranks[i], chunks, add=False) for i in child], own)


def _levels(n: int) -> list[tuple[range, int]]:
    """Return for each level the indices of the children, and the distance from a child to its parent."""
    distances = [1 << level for level in range((n - 1).bit_length())]
    return [(range(distance, n, 2 * distance), distance) for distance in distances]
