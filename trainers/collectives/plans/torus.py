"""2D-torus all-reduce (Mikami et al., 2018): scatter along the rows, sum along the columns, gather along the rows.

Cost on Y rows of X ranks, N = X Y, S bytes: 2 (X - 1) + 2 (Y - 1) rounds where one ring takes 2 (N - 1);
each rank moves 2 S (N - 1) / N bytes, as in the ring. With a host to a row, 2 S (Y - 1) / Y cross each host's link,
the least there can be.

The paper's rows are equally long. Here they need not be: a column is the ranks that hold one part of the vector.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import lcm

from trainers.collectives import layout
from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Plan, Round, split, together
from trainers.collectives.plans import ring


def plan(hosts: Hosts, *, rows: int | None = None) -> Plan:
    """The torus on `rows` rows, else on a host to a row, else on the squarest grid."""
    grid = layout.grid(hosts, rows)
    chunks = lcm(*map(len, grid)) * len(grid)
    return Plan("torus", sum(map(len, grid)), chunks, lambda: on_grid(grid, range(chunks)), {"rows": len(grid)})


def allreduce(ranks: Sequence[int], chunks: range, *, rows: int) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, laid out row by row in a grid of `rows` rows."""
    return on_grid(layout.grid([ranks], rows), chunks)


def on_grid(grid: Sequence[Sequence[int]], chunks: range) -> Iterator[Round]:
    """Sum `chunks` over the ranks of all rows."""
    yield from together(*(ring.reduce_scatter(row, chunks) for row in grid))
    yield from together(*(ring.allreduce(column, part) for column, part in columns(grid, chunks)))
    yield from together(*(ring.all_gather(row, chunks) for row in grid))


def columns(grid: Sequence[Sequence[int]], chunks: range) -> Iterator[tuple[list[int], range]]:
    """Each part of the vector that one rank per row holds after the scatter, with those ranks.

    On rows of X ranks these are the X columns with a block each; rows of 2 and 3 ranks meet in 4 parts.
    """
    blocks = [split(chunks, len(row)) for row in grid]
    cuts = sorted({chunks.stop, *(block.start for row in blocks for block in row)})
    holders = [0] * len(grid)
    for start, stop in pairwise(cuts):
        for row, own in enumerate(blocks):
            holders[row] += own[holders[row]].stop <= start
        yield [ranks[i] for ranks, i in zip(grid, holders, strict=True)], range(start, stop)
