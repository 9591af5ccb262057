"""Ring all-reduce (Patarasuk & Yuan, 2009): bandwidth-optimal; each rank sends only to the next rank.

Cost on n ranks, S bytes: 2 (n - 1) rounds, each rank sends and receives 2 S (n - 1) / n bytes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Sends, split


def plan(hosts: Hosts) -> Plan:
    """Return one ring through all ranks, host by host, so that each round sends one message into and out of a host."""
    ranks = ranks_in_order(hosts)
    return Plan("ring", len(ranks), len(ranks), lambda: allreduce(ranks, range(len(ranks))))


def reduce_scatter(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Leave the i-th block of `chunks`, summed over `ranks`, on ranks[i]."""
    # block b starts at ranks[b + 1] and reaches ranks[b] after n - 1 rounds
    return _rotate(ranks, chunks, range(1, len(ranks)), add=True)


def all_gather(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Send the i-th block of `chunks` from ranks[i] to all `ranks`."""
    return _rotate(ranks, chunks, range(len(ranks) - 1), add=False)


def allreduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on each of these ranks."""
    yield from reduce_scatter(ranks, chunks)
    yield from all_gather(ranks, chunks)


def _rotate(ranks: Sequence[int], chunks: range, shifts: range, *, add: bool) -> Iterator[Round]:
    """Yield a round for each shift, in which ranks[i] sends block i - shift to the next rank."""
    blocks = split(chunks, len(ranks))
    start_n, size_n = np.array([block.start for block in blocks]), np.array([len(block) for block in blocks])
    rank_n, next_n, add_n = np.array(ranks), np.roll(ranks, -1), np.full(len(ranks), add)
    is_equal = size_n.min() == size_n.max()
    for shift in shifts:
        # rounds with equal blocks share the same arrays, so price() sees by identity that their loads are equal
        yield Sends(rank_n, next_n, np.roll(start_n, shift), size_n if is_equal else np.roll(size_n, shift), add_n)
