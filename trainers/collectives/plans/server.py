"""Parameter server, single or sharded (Li et al., 2014; the baseline of FireCaffe, 2015).

Cost on n ranks, S bytes, s servers with one shard each: n - 1 rounds up and n - 1 rounds down, of S / s bytes for each
server. FireCaffe counts S p / rate for p workers and one additional server. Here the server is a worker too, so the
cost is S (p - 1) / rate in each direction.

The workers send to a server one after the other, so a server needs memory for one worker's shard, and adds in a fixed
order.
"""

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan, Round, Send, Sends, split


def plan(hosts: Hosts, *, servers: int = 1) -> Plan:
    """Return the plan in which `servers` of the ranks hold an equal shard each, at equal distances among the ranks."""
    ranks = ranks_in_order(hosts)
    if not 1 <= servers <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks cannot have {servers} servers: servers must be from 1 to {len(ranks)}")
    chunks = range(servers)
    return Plan(
        "server",
        len(ranks),
        servers,
        lambda own: allreduce(ranks, chunks, servers=servers, own=own),
        {"servers": servers},
    )


def allreduce(ranks: Sequence[int], chunks: range, *, servers: int, own: int | None = None) -> Iterator[Round]:
    """Sum the shards of `chunks` on their servers, and send the sums to all `ranks`."""
    if own is not None:
        for add in (True, False):
            yield from _own_rounds(ranks, split(chunks, servers), add=add, own=own)
        return
    n, shards = len(ranks), split(chunks, servers)
    rank_n, index_s = np.array(ranks), np.arange(servers) * n // servers
    start_s, size_s = np.array([shard.start for shard in shards]), np.array([len(shard) for shard in shards])
    up_s, down_s = np.full(servers, True), np.full(servers, False)
    server_s, cyclic_2n = rank_n[index_s], np.tile(rank_n, 2)
    for step in range(1, n):
        yield Sends(cyclic_2n[index_s + step], server_s, start_s, size_s, up_s)
    for step in range(1, n):
        yield Sends(server_s, cyclic_2n[index_s + step], start_s, size_s, down_s)


def _own_rounds(ranks: Sequence[int], shards: Sequence[range], *, add: bool, own: int) -> Iterator[Round]:
    """Yield the sends from and to `own` of each round; `add`: on the way up to the servers."""
    n, i = len(ranks), ranks.index(own)
    server_of = {s * n // len(shards): s for s in range(len(shards))}  # index of a server -> its shard
    for step in range(1, n):
        workers = [(i, (i - step) % n), ((i + step) % n, i)]  # pairs of a worker and a server, of which one is `own`
        pairs = sorted((server_of[server], worker, server) for worker, server in workers if server in server_of)
        ends = [(shard, ranks[worker], ranks[server]) for shard, worker, server in pairs]
        yield [
            Send(worker, server, shards[s], add=True) if add else Send(server, worker, shards[s], add=False)
            for s, worker, server in ends
        ]


def servers_to_hide(size_bytes: float, *, workers: int, rate: float, compute_s: float) -> int:
    """Return how many servers of `rate` bytes/s complete their traffic within `compute_s` (Zou et al., 2017).

    N_ps >= 2 S N_w / (B T_c): the S bytes of each worker travel up and down within one step.
    """
    return ceil(2 * size_bytes * workers / (rate * compute_s))
