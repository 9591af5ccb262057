"""Hierarchical all-reduce (Jia et al., 2018): sum inside each group, a ring among the masters, back to the groups.

Cost on p ranks in groups of k: 4 (k - 1) + 2 (p / k - 1) rounds where one ring takes 2 (p - 1): 1,024 ranks in groups
of 16 take 186 rounds, not 2,046. A master moves 2 S (p/k - 1) / (p/k) bytes between the groups; no other rank helps.

Inside a group the sum is scattered, then gathered on the master, k - 1 rounds of S / k bytes each; it comes back so.
"""

from collections.abc import Iterator, Sequence
from math import lcm

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Send, Sends, split, together
from trainers.collectives.plans import ring


def plan(hosts: Hosts, *, group: int | None = None) -> Plan:
    """Groups of `group` ranks (what is left over is a smaller one), else a host to a group."""
    ranks = in_order(hosts)
    if group is not None and not 1 <= group <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks have no group of {group}")
    groups = hosts if group is None else [ranks[i : i + group] for i in range(0, len(ranks), group)]
    largest = max(map(len, groups))
    chunks = lcm(largest, len(groups))
    return Plan("hierarchical", len(ranks), chunks, lambda: allreduce(groups, range(chunks)), {"group": largest})


def allreduce(groups: Sequence[Sequence[int]], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over the ranks of all groups; the first of each group is its master."""
    if len(groups) == 1:
        yield from ring.allreduce(groups[0], chunks)
        return
    yield from together(*(ring.reduce_scatter(group, chunks) for group in groups))
    yield from together(*(gather(group, chunks) for group in groups))
    yield from ring.allreduce([group[0] for group in groups], chunks)
    yield from together(*(scatter(group, chunks) for group in groups))
    yield from together(*(spread(group, chunks) for group in groups))


def gather(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Bring the i-th block of `chunks` from ranks[i] to ranks[0], one rank after the other."""
    for rank, block in list(zip(ranks, split(chunks, len(ranks)), strict=True))[1:]:
        yield [Send(rank, ranks[0], block, add=False)]


def scatter(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Take the i-th block of `chunks` from ranks[0] to ranks[i], one rank after the other."""
    for rank, block in list(zip(ranks, split(chunks, len(ranks)), strict=True))[1:]:
        yield [Send(ranks[0], rank, block, add=False)]


def spread(ranks: Sequence[int], chunks: range) -> Iterator[Round]:
    """Spread the i-th block of `chunks` from ranks[i] to all but ranks[0], who has them all."""
    for sends in map(Sends.of, ring.all_gather(ranks, chunks)):
        yield sends.where(sends.dst_M != ranks[0])
