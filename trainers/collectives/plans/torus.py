"""2D-torus all-reduce (Mikami et al., 2018): scatter along the rows, sum along the columns, gather along the rows.

Cost on Y rows of X ranks, N = X Y, S bytes: 2 (X - 1) + 2 (Y - 1) rounds, where one ring takes 2 (N - 1). Each rank
sends and receives 2 S (N - 1) / N bytes, as in the ring. With one row per host, 2 S (Y - 1) / Y bytes cross the link of
each host, which is the minimum.

In the paper all rows have the same length. Here the lengths may differ: a column is the set of ranks that hold the same
part of the vector.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import lcm

from trainers.collectives import layout
from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Plan, Round, run_in_parallel, split
from trainers.collectives.plans import ring


def plan(hosts: Hosts, *, rows: int | None = None) -> Plan:
    """Return the torus with `rows` rows; the default is one row per host or the squarest grid (layout.grid)."""
    grid = layout.grid(hosts, rows)
    chunks = lcm(*map(len, grid)) * len(grid)
    return Plan(
        "torus", sum(map(len, grid)), chunks, lambda own: on_grid(grid, range(chunks), own), {"rows": len(grid)}
    )


def allreduce(ranks: Sequence[int], chunks: range, *, rows: int) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, which fill a grid of `rows` rows, row by row."""
    return on_grid(layout.grid([ranks], rows), chunks)


def on_grid(grid: Sequence[Sequence[int]], chunks: range, own: int | None = None) -> Iterator[Round]:
    """Sum `chunks` over the ranks of all rows."""
    yield from run_in_parallel(*(ring.reduce_scatter(row, chunks, own) for row in grid), own=own)
    yield from run_in_parallel(*(ring.allreduce(column, part, own) for column, part in columns(grid, chunks)), own=own)
    yield from run_in_parallel(*(ring.all_gather(row, chunks, own) for row in grid), own=own)


def columns(grid: Sequence[Sequence[int]], chunks: range) -> Iterator[tuple[list[int], range]]:
    """Yield each part of the vector after the scatter, with the ranks that hold the part: one rank per row.

    On equal rows of X ranks these are the X columns with one block each. Rows of 2 and 3 ranks have 4 parts.
    """
    blocks = [split(chunks, len(row)) for row in grid]
    cuts = sorted({chunks.stop, *(block.start for row in blocks for block in row)})
    holders = [0] * len(grid)
    for start, stop in pairwise(cuts):
        for row, row_blocks in enumerate(blocks):
            holders[row] += row_blocks[holders[row]].stop <= start
        yield [ranks[i] for ranks, i in zip(grid, holders, strict=True)], range(start, stop)
