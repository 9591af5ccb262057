"""2D-torus all-reduce (Mikami et al., 2018): scatter along the rows, sum along the columns, gather along the rows.

Cost on Y rows of X ranks, N = X Y, S bytes: 2 (X - 1) + 2 (Y - 1) rounds where one ring takes 2 (N - 1);
each rank moves 2 S (N - 1) / N bytes, as in the ring, so the torus only saves latency.
"""

from collections.abc import Iterator, Sequence

from trainers.collectives import ring
from trainers.collectives.plan import Round, split, together


def allreduce(ranks: Sequence[int], chunks: range, *, rows: int) -> Iterator[Round]:
    """Sum `chunks` over `ranks`, laid out row by row in a grid of `rows` rows."""
    grid = [[ranks[i] for i in row] for row in split(range(len(ranks)), rows)]
    columns = list(zip(*grid, strict=True))
    yield from together(*(ring.reduce_scatter(row, chunks) for row in grid))
    # column x holds block x only, so the vertical rings move 1/X of the vector
    blocks = split(chunks, len(columns))
    yield from together(*(ring.allreduce(column, block) for column, block in zip(columns, blocks, strict=True)))
    yield from together(*(ring.all_gather(row, chunks) for row in grid))
