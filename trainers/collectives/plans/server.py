"""Parameter server, single and sharded (Li et al., 2014; the yardstick of FireCaffe, 2015): all report to few.

Cost on n ranks, S bytes, s servers with a shard each: n - 1 rounds up and n - 1 down of S / s bytes for each server.
FireCaffe counts S p / rate for p workers and one server beside them; here the server works too, so p - 1, each way.

The workers of a shard come one after the other: a server then needs room for one of them, and sums in one order.
"""

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np

from trainers.collectives.layout import Hosts, in_order
from trainers.collectives.plan import Plan, Round, Sends, split


def plan(hosts: Hosts, *, servers: int = 1) -> Plan:
    """`servers` of the ranks serve an equal shard each; they stand as far apart as they can."""
    ranks = in_order(hosts)
    if not 1 <= servers <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks cannot have {servers} servers among them")
    chunks = range(servers)
    return Plan("server", len(ranks), servers, lambda: allreduce(ranks, chunks, servers=servers), {"servers": servers})


def allreduce(ranks: Sequence[int], chunks: range, *, servers: int) -> Iterator[Round]:
    """Sum the shards of `chunks` on their servers, and send them back to all `ranks`."""
    n, shards = len(ranks), split(chunks, servers)
    rank_n, place_s = np.array(ranks), np.arange(servers) * n // servers
    start_s, size_s = np.array([shard.start for shard in shards]), np.array([len(shard) for shard in shards])
    up_s, down_s = np.full(servers, True), np.full(servers, False)
    server_s, around_2n = rank_n[place_s], np.tile(rank_n, 2)
    for step in range(1, n):
        yield Sends(around_2n[place_s + step], server_s, start_s, size_s, up_s)
    for step in range(1, n):
        yield Sends(server_s, around_2n[place_s + step], start_s, size_s, down_s)


def servers_to_hide(size_bytes: float, *, workers: int, rate: float, compute_s: float) -> int:
    """How many servers of `rate` bytes/s hide their traffic behind `compute_s` (Zou et al., 2017).

    N_ps >= 2 S N_w / (B T_c): every worker's S bytes go up and down within a step.
    """
    return ceil(2 * size_bytes * workers / (rate * compute_s))
