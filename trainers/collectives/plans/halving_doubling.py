"""Recursive halving and doubling (Rabenseifner, 2004; Thakur et al., 2005).

Cost on n = 2^m ranks, S bytes: 2 log2 n rounds, each rank sends and receives 2 S (n - 1) / n bytes: the minimum of
rounds together with the minimum of bytes, but between distant ranks. Adjacent ranks exchange first, so the large halves
stay inside the hosts.

For any other n, with r = n - 2^m: the first 2 r ranks reduce in pairs before and copy in pairs after, which adds
2 rounds of S bytes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Send, Sends, own_sends, split


def plan(hosts: Hosts) -> Plan:
    """Return halving and doubling over all ranks."""
    ranks = ranks_in_order(hosts)
    chunks = _power_of_two(len(ranks))
    return Plan("halving_doubling", len(ranks), chunks, lambda own: allreduce(ranks, range(chunks), own))


def allreduce(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on each of these ranks."""
    extra = len(ranks) - _power_of_two(len(ranks))
    folded, partners = ranks[1 : 2 * extra : 2], ranks[0 : 2 * extra : 2]
    if extra:
        yield own_sends([Send(src, dst, chunks, add=True) for src, dst in zip(folded, partners, strict=True)], own)
    active = [*partners, *ranks[2 * extra :]]
    yield from halve(active, chunks, own)
    yield from double(active, chunks, own)
    if extra:
        yield own_sends([Send(src, dst, chunks, add=False) for dst, src in zip(folded, partners, strict=True)], own)


def halve(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Leave a share of `chunks`, summed over the 2^m `ranks`, on each rank: send one half, add to the other half."""
    if own is not None:
        yield from _halve_own(ranks, chunks, own)
        return
    rank_n, i = np.array(ranks), np.arange(len(ranks))
    start_n, size_n = np.full(len(ranks), chunks.start), np.full(len(ranks), len(chunks))
    add_n = np.full(len(ranks), True)
    for distance in _distances(len(ranks)):
        lower_n, has_upper = size_n // 2, (i & distance) > 0  # the latter ranks sum the second half
        upper_n, middle_n = size_n - lower_n, start_n + lower_n
        sent_start_n, sent_n = np.where(has_upper, start_n, middle_n), np.where(has_upper, lower_n, upper_n)
        yield Sends(rank_n, rank_n[i ^ distance], sent_start_n, sent_n, add_n)
        start_n, size_n = np.where(has_upper, middle_n, start_n), np.where(has_upper, upper_n, lower_n)


def double(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send the shares from `halve` to all ranks: the sends of `halve` in reverse order and direction."""
    for sends in reversed(list(halve(ranks, chunks, own))):
        if isinstance(sends, Sends):
            yield Sends(sends.dst_M, sends.src_M, sends.start_M, sends.size_M, ~sends.add_M)
        else:
            yield [Send(send.dst, send.src, send.chunks, add=False) for send in sends]


def _halve_own(ranks: Sequence[int], chunks: range, own: int) -> Iterator[Round]:
    """Yield the sends from and to `own`; empty rounds if `own` has left its part to another rank."""
    i = ranks.index(own) if own in ranks else None
    for distance in _distances(len(ranks)):
        if i is None:
            yield []
            continue
        # the peer has the same share, because their numbers differ in this bit alone
        peer, is_upper, halves = ranks[i ^ distance], bool(i & distance), split(chunks, 2)
        sends = [Send(own, peer, halves[not is_upper], add=True), Send(peer, own, halves[is_upper], add=True)]
        yield sends[::-1] if is_upper else sends  # in the order of the senders
        chunks = halves[is_upper]


def _distances(n: int) -> list[int]:
    return [1 << bit for bit in range(n.bit_length() - 1)]


def _power_of_two(n: int) -> int:
    """Return the largest power of two up to n."""
    return 1 << (n.bit_length() - 1)
