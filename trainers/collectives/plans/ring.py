"""Ring all-reduce (Patarasuk & Yuan, 2009): bandwidth-optimal, one neighbor at a time.

Cost on n ranks, S bytes: 2 (n - 1) rounds, each rank sends and receives 2 S (n - 1) / n bytes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Sends, split


def plan(hosts: Hosts) -> Plan:
    """One ring through all ranks, host after host, so that one message at a time enters and leaves a host."""
    ranks = in_order(hosts)
    return Plan("ring", len(ranks), len(ranks), lambda: allreduce(ranks, range(len(ranks))))


def reduce_scatter(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Leave the i-th block of `chunks`, summed over `ranks`, on ranks[i]."""
    # block b leaves ranks[b + 1] first and comes home after n - 1 hops
    return _turns(ranks, chunks, range(1, len(ranks)), add=True)


def all_gather(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Spread the i-th block of `chunks` from ranks[i] to all `ranks`."""
    return _turns(ranks, chunks, range(len(ranks) - 1), add=False)


def allreduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on every one of them."""
    yield from reduce_scatter(ranks, chunks)
    yield from all_gather(ranks, chunks)


def _turns(ranks: Sequence[int], chunks: range, turns: range, *, add: bool) -> Iterator[Round]:
    """In each turn t, ranks[i] sends block i - t to the next rank."""
    blocks = split(chunks, len(ranks))
    start_n, size_n = np.array([block.start for block in blocks]), np.array([len(block) for block in blocks])
    here_n, next_n, add_n = np.array(ranks), np.roll(ranks, -1), np.full(len(ranks), add)
    equal = size_n.min() == size_n.max()
    for turn in turns:
        # one and the same array where blocks are equal: the price sees at once that turns load the network alike
        yield Sends(here_n, next_n, np.roll(start_n, turn), size_n if equal else np.roll(size_n, turn), add_n)
