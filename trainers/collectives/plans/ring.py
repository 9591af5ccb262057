"""Ring all-reduce (Patarasuk & Yuan, 2009): bandwidth-optimal; each rank sends only to the next rank.

Cost on n ranks, S bytes: 2 (n - 1) rounds, each rank sends and receives 2 S (n - 1) / n bytes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Send, Sends, split


def plan(hosts: Hosts) -> Plan:
    """Return one ring through all ranks, host by host, so that each round sends one message into and out of a host."""
    ranks = ranks_in_order(hosts)
    return Plan("ring", len(ranks), len(ranks), lambda own: allreduce(ranks, range(len(ranks)), own))


def reduce_scatter(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Leave the i-th block of `chunks`, summed over `ranks`, on ranks[i]."""
    # block b starts at ranks[b + 1] and reaches ranks[b] after n - 1 rounds
    return _rotate(ranks, chunks, range(1, len(ranks)), add=True, own=own)


def all_gather(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send the i-th block of `chunks` from ranks[i] to all `ranks`."""
    return _rotate(ranks, chunks, range(len(ranks) - 1), add=False, own=own)


def allreduce(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on each of these ranks."""
    yield from reduce_scatter(ranks, chunks, own)
    yield from all_gather(ranks, chunks, own)


def _rotate(
    ranks: Sequence[int], chunks: range, shifts: range, *, add: bool, own: int | None = None
) -> Iterator[Round]:
    """Yield a round for each shift, in which ranks[i] sends block i - shift to the next rank."""
    if own is not None:
        yield from _rotate_own(ranks, chunks, shifts, add=add, own=own)
        return
    blocks = split(chunks, len(ranks))
    start_n, size_n = np.array([block.start for block in blocks]), np.array([len(block) for block in blocks])
    rank_n, next_n, add_n = np.array(ranks), np.roll(ranks, -1), np.full(len(ranks), add)
    is_equal = size_n.min() == size_n.max()
    for shift in shifts:
        # rounds with equal blocks share the same arrays, so price() sees by identity that their loads are equal
        yield Sends(rank_n, next_n, np.roll(start_n, shift), size_n if is_equal else np.roll(size_n, shift), add_n)


def _rotate_own(ranks: Sequence[int], chunks: range, shifts: range, *, add: bool, own: int) -> Iterator[Round]:
    """Yield the sends from and to `own` of each round; empty rounds if `own` is not in the ring."""
    if own not in ranks:
        yield from ([] for _ in shifts)
        return
    n, i = len(ranks), ranks.index(own)
    blocks, before, after = split(chunks, n), ranks[i - 1], ranks[(i + 1) % n]
    for shift in shifts:
        sends = [Send(before, own, blocks[(i - 1 - shift) % n], add), Send(own, after, blocks[(i - shift) % n], add)]
        yield sends if i else sends[::-1]  # in the order of the senders
