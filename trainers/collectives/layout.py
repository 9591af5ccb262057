"""Which ranks share a host, and the grid that follows from it."""

from collections.abc import Sequence
from itertools import groupby
from math import isqrt
from typing import TypeAlias

from trainers.collectives.plan import split

Hosts: TypeAlias = Sequence[Sequence[int]]  # the ranks of each host


def hosts_of(world: int, hosts: int) -> list[list[int]]:
    """Number `world` ranks host by host, as Slurm's block distribution does; the first hosts take what is left over."""
    if not 1 <= hosts <= world:
        raise ValueError(f"{world} ranks cannot stand on {hosts} hosts with at least one on each")
    sizes = [world // hosts + (host < world % hosts) for host in range(hosts)]
    starts = [sum(sizes[:host]) for host in range(hosts)]
    return [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]


def in_order(hosts: Hosts) -> list[int]:
    """All ranks, host after host: neighbors share a host wherever they can."""
    return [rank for host in hosts for rank in host]


def grid(hosts: Hosts, rows: int | None = None) -> list[list[int]]:
    """Lay the ranks out in rows: as many as asked for, else a host to a row, else the squarest grid there is.

    A host to a row wants several hosts with several ranks each; a prime number of ranks is one row.
    """
    if rows is None and len(hosts) > 1 and all(len(host) > 1 for host in hosts):
        return [list(host) for host in hosts]
    ranks = in_order(hosts)
    if rows is not None and not 1 <= rows <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks do not form {rows} rows")
    return [ranks[row.start : row.stop] for row in split(range(len(ranks)), rows or squarest(len(ranks)))]


def rows(hosts: Sequence[str]) -> int:
    """How many rows the grid of these ranks has; `hosts[r]` is the host of rank r."""
    runs = [len(list(run)) for _, run in groupby(hosts)]
    one_row_a_host = len(set(runs)) == 1 and len(runs) == len(set(hosts))
    return len(runs) if one_row_a_host else squarest(len(hosts))


def squarest(world: int) -> int:
    """The rows of the grid of `world` ranks that is nearest to a square, no more of them than columns."""
    return next(rows for rows in range(isqrt(world), 0, -1) if world % rows == 0)
