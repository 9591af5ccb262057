"""Plans of the collectives that cut a vector into one block per rank, or send it from or to one rank.

With n ranks and S bytes, of which block i belongs to the i-th rank:

    all-gather       every rank gets all blocks                        (n - 1) / n S per rank
    reduce-scatter   the i-th rank gets the sum of block i             (n - 1) / n S per rank
    broadcast        every rank gets the vector of the first rank      (n - 1) S in all
    reduce           the first rank gets the sum of all vectors        (n - 1) S in all

Blocks move on a ring in n - 1 rounds, or by doubling in log2 n rounds if n is a power of two (Thakur et al., 2005).
A reduce-scatter followed by an all-gather is an all-reduce. Broadcast and reduce use a binomial tree of ceil(log2 n)
rounds.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Operation, Plan, Round, Send, Sends, own_sends, split
from trainers.collectives.plans import ring, tree


def plans(operation: Operation, hosts: Hosts) -> list[Plan]:
    """Return every plan of an operation among the ranks of `hosts`; the i-th block belongs to the i-th of them."""
    ranks = ranks_in_order(hosts)
    is_power_of_two = len(ranks) & (len(ranks) - 1) == 0
    match operation:
        case "all_gather":
            return [all_gather(ranks), *([all_gather(ranks, doubles=True)] if is_power_of_two else [])]
        case "reduce_scatter":
            return [reduce_scatter(ranks), *([reduce_scatter(ranks, doubles=True)] if is_power_of_two else [])]
        case "broadcast":
            return [broadcast(ranks)]
        case "reduce":
            return [reduce(ranks)]
        case "all_reduce":
            raise ValueError("the plans of the all-reduce are in the catalog")


def all_gather(ranks: Sequence[int], *, doubles: bool = False) -> Plan:
    """Return a plan by which every rank gets the blocks of all ranks."""
    chunks, rounds = range(len(ranks)), _double if doubles else ring.all_gather
    return _plan("all_gather", ranks, doubles, lambda own: rounds(ranks, chunks, own))


def reduce_scatter(ranks: Sequence[int], *, doubles: bool = False) -> Plan:
    """Return a plan by which the i-th rank gets the sum of block i."""
    chunks, rounds = range(len(ranks)), _halve if doubles else ring.reduce_scatter
    return _plan("reduce_scatter", ranks, doubles, lambda own: rounds(ranks, chunks, own))


def broadcast(ranks: Sequence[int]) -> Plan:
    """Return a plan by which every rank gets the vector of the first of `ranks`."""
    return Plan("tree", len(ranks), 1, lambda own: tree.broadcast(ranks, range(1), own), operation="broadcast")


def reduce(ranks: Sequence[int]) -> Plan:
    """Return a plan by which the first of `ranks` gets the sum of all vectors."""
    return Plan("tree", len(ranks), 1, lambda own: tree.reduce(ranks, range(1), own), operation="reduce")


def _plan(
    operation: Operation, ranks: Sequence[int], doubles: bool, make: Callable[[int | None], Iterator[Round]]
) -> Plan:
    kind = "halving_doubling" if doubles else "ring"
    return Plan(kind, len(ranks), len(ranks), make, operation=operation)


def _double(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Yield rounds in which ranks at the distances 1, 2, 4, ... exchange all blocks that they have."""
    block_n = np.array([block.start for block in split(chunks, len(ranks))] + [chunks.stop])
    rank_n, i = np.array(ranks), np.arange(len(ranks))
    for bit in range(len(ranks).bit_length() - 1):
        size = 1 << bit
        first = i & -size  # of the aligned blocks that the rank has
        start_n, add_n = block_n[first], np.full(len(ranks), False)
        sends = Sends(rank_n, rank_n[i ^ size], start_n, block_n[first + size] - start_n, add_n)
        yield sends if own is None else list(own_sends(sends, own))


def _halve(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Yield the sends of `_double` in reverse order and direction, which add."""
    for sends in reversed(list(_double(ranks, chunks, own))):
        if isinstance(sends, Sends):
            yield Sends(sends.dst_M, sends.src_M, sends.start_M, sends.size_M, ~sends.add_M)
        else:
            yield [Send(send.dst, send.src, send.chunks, add=True) for send in sends]
