"""The layout of ranks: which ranks share a host, and the grid of rows and columns that follows."""

from collections.abc import Sequence
from itertools import accumulate, groupby
from math import isqrt
from typing import TypeAlias

from trainers.collectives.plan import split

Hosts: TypeAlias = Sequence[Sequence[int]]  # the ranks of each host


def hosts_of(world: int, hosts: int) -> list[list[int]]:
    """Return the ranks of each host, numbered host by host as in Slurm's block distribution.

    If `hosts` does not divide `world`, the first hosts have one rank more. Raise ValueError if a host gets no rank.
    """
    if not 1 <= hosts <= world:
        raise ValueError(f"{world} ranks cannot occupy {hosts} hosts: hosts must be from 1 to {world}")
    sizes = [world // hosts + (host < world % hosts) for host in range(hosts)]
    return [list(range(stop - size, stop)) for stop, size in zip(accumulate(sizes), sizes, strict=True)]


def ranks_in_order(hosts: Hosts) -> list[int]:
    """Return all ranks, host by host, so that adjacent ranks share a host where possible."""
    return [rank for host in hosts for rank in host]


def grid(hosts: Hosts, rows: int | None = None) -> list[list[int]]:
    """Return the ranks of each row of a grid with `rows` rows.

    Without `rows`: one row per host if there are several hosts and each has several ranks, else the grid that is
    nearest to a square (one row for a prime number of ranks). Raise ValueError if there are fewer ranks than rows.
    """
    if rows is None and len(hosts) > 1 and all(len(host) > 1 for host in hosts):
        return [list(host) for host in hosts]
    ranks = ranks_in_order(hosts)
    if rows is not None and not 1 <= rows <= len(ranks):
        raise ValueError(f"{len(ranks)} ranks cannot form {rows} rows: rows must be from 1 to {len(ranks)}")
    return [ranks[row.start : row.stop] for row in split(range(len(ranks)), rows or squarest(len(ranks)))]


def count_rows(hosts: Sequence[str]) -> int:
    """Return the number of rows of the grid of these ranks; `hosts[r]` is the host of rank r."""
    sizes = [len(list(ranks)) for _, ranks in groupby(hosts)]
    has_row_per_host = len(set(sizes)) == 1 and len(sizes) == len(set(hosts))
    return len(sizes) if has_row_per_host else squarest(len(hosts))


def squarest(world: int) -> int:
    """Return the number of rows of the full grid of `world` ranks that is nearest to a square; rows <= columns."""
    return next(rows for rows in range(isqrt(world), 0, -1) if world % rows == 0)
