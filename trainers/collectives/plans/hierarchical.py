"""Hierarchical all-reduce (Jia et al., 2018): reduce in each group to a master, a ring over the masters, broadcast.

Cost on p ranks in groups of k: 4 (k - 1) + 2 (p / k - 1) rounds, where one ring takes 2 (p - 1): 1,024 ranks in groups
of 16 take 186 rounds instead of 2,046. A master sends and receives 2 S (p/k - 1) / (p/k) bytes between the groups; the
other ranks do not send between groups.

In a group, the sum is scattered and then gathered on the master, in k - 1 rounds of S / k bytes each. The way back to
the group is the same in reverse.
"""

from collections.abc import Iterator, Sequence
from math import lcm

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Send, Sends, own_sends, run_in_parallel, split
from trainers.collectives.plans import ring


def plan(hosts: Hosts, *, group: int | None = None) -> Plan:
    """Return the plan with groups of `group` ranks (the last group may be smaller); the default is a group per host."""
    ranks = ranks_in_order(hosts)
    if group is not None and not 1 <= group <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks cannot form groups of {group}: group must be from 1 to {len(ranks)}")
    groups = hosts if group is None else [ranks[i : i + group] for i in range(0, len(ranks), group)]
    largest = max(map(len, groups))
    chunks = lcm(largest, len(groups))
    return Plan(
        "hierarchical", len(ranks), chunks, lambda own: allreduce(groups, range(chunks), own), {"group": largest}
    )


def allreduce(groups: Sequence[Sequence[int]], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over the ranks of all groups; the first rank of each group is its master."""
    if len(groups) == 1:
        yield from ring.allreduce(groups[0], chunks, own)
        return
    yield from run_in_parallel(*(ring.reduce_scatter(group, chunks, own) for group in groups), own=own)
    yield from run_in_parallel(*(gather(group, chunks, own) for group in groups), own=own)
    yield from ring.allreduce([group[0] for group in groups], chunks, own)
    yield from run_in_parallel(*(scatter(group, chunks, own) for group in groups), own=own)
    yield from run_in_parallel(*(gather_on_members(group, chunks, own) for group in groups), own=own)


def gather(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send the i-th block of `chunks` from ranks[i] to ranks[0], one rank per round."""
    for rank, block in list(zip(ranks, split(chunks, len(ranks)), strict=True))[1:]:
        yield own_sends([Send(rank, ranks[0], block, add=False)], own)


def scatter(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send the i-th block of `chunks` from ranks[0] to ranks[i], one rank per round."""
    for rank, block in list(zip(ranks, split(chunks, len(ranks)), strict=True))[1:]:
        yield own_sends([Send(ranks[0], rank, block, add=False)], own)


def gather_on_members(ranks: Sequence[int], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Send the i-th block of `chunks` from ranks[i] to all ranks except ranks[0], which has all blocks."""
    for sends in ring.all_gather(ranks, chunks, own):
        if isinstance(sends, Sends):
            yield sends.select(sends.dst_M != ranks[0])
        else:
            yield [send for send in sends if send.dst != ranks[0]]
