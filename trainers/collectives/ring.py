"""Ring all-reduce (Patarasuk & Yuan, 2009): bandwidth-optimal, one neighbor at a time.

Cost on n ranks, S bytes: 2 (n - 1) rounds, each rank sends and receives 2 S (n - 1) / n bytes.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives.plan import Round, Send, split


def reduce_scatter(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Leave the i-th block of `chunks`, summed over `ranks`, on ranks[i]."""
    n, blocks = len(ranks), split(chunks, len(ranks))
    for step in range(1, n):
        # block b leaves ranks[b + 1] first and comes home after n - 1 hops
        yield [Send(ranks[i], ranks[(i + 1) % n], blocks[(i - step) % n], add=True) for i in range(n)]


def all_gather(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Spread the i-th block of `chunks` from ranks[i] to all `ranks`."""
    n, blocks = len(ranks), split(chunks, len(ranks))
    for step in range(n - 1):
        yield [Send(ranks[i], ranks[(i + 1) % n], blocks[(i - step) % n], add=False) for i in range(n)]


def allreduce(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, on every one of them."""
    yield from reduce_scatter(ranks, chunks)
    yield from all_gather(ranks, chunks)
