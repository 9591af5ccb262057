"""Cells: what the points of a number of steps sum up to. Pure functions on arrays.

A cell of width w with the number n sums up the points of the steps from n w to (n + 1) w - 1. Cells without points are
left out. Least, most and mean are those of the finite values, and NaN without any.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.metrics.packing import Integers, Points, Reals, pack, unpack

FINEST, RATIO = 32, 8  # steps of the narrowest cells; the cells of one width in a cell of the next
LEVELS = 9  # the widest cell has more steps than a column of steps can have
BLOCK = 256  # cells in a row of the database, a multiple of RATIO
POINTS_OF_CELL = 16  # at least about so many points are in a finest cell of a series, so that cells are few
HAS_NAN, HAS_INFINITY, HAS_MINUS_INFINITY = 1, 2, 4
VERSION = 1


class Cells(NamedTuple):
    """Cells of one width, by ascending numbers."""

    number: Integers
    size: Integers  # number of points
    finite: Integers  # of points with a finite value
    flags: Integers  # which values that are not finite there are
    least: Reals
    most: Reals
    mean: Reals
    last: Reals  # of the last step; it may be NaN or infinite

    def where(self, which: "NDArray[np.bool_] | slice") -> "Cells":
        """Return the cells of the mask or slice."""
        return Cells._make(column[which] for column in self)


WHOLE = ("number", "size", "finite", "flags")
NO_CELLS = Cells._make([*[np.empty(0, np.int64)] * 4, *[np.empty(0, np.float64)] * 4])


def width_for(spacing: float) -> int:
    """Return the width of the finest cells of a series with a point every `spacing` steps."""
    widths: list[int] = [FINEST * RATIO**level for level in range(LEVELS)]
    return next((width for width in widths if width >= POINTS_OF_CELL * spacing), widths[-1])


def level_count(width: int, first_step: int, last_step: int) -> int:
    """Return how many widths of cells a series has: the cells of the widest are within one block."""
    levels = 1
    while first_step // (width * BLOCK) != last_step // (width * BLOCK):
        width, levels = width * RATIO, levels + 1
    return levels


def cells_of(points: Points, width: int) -> Cells:
    """Return the cells of points."""
    is_finite = np.isfinite(points.values)
    flags = np.zeros(len(points.steps), np.int64)
    if not is_finite.all():
        flags += HAS_NAN * np.isnan(points.values)
        flags += HAS_INFINITY * np.isposinf(points.values) + HAS_MINUS_INFINITY * np.isneginf(points.values)
    finite = np.where(is_finite, points.values, np.nan)
    ones = np.ones(len(points.steps), np.int64)
    one = Cells(points.steps // width, ones, is_finite.astype(np.int64), flags, finite, finite, finite, points.values)
    return merged(one)


def wider(cells: Cells, ratio: int) -> Cells:
    """Return the cells of `ratio` times the width."""
    return merged(cells._replace(number=cells.number // ratio))


def merged(cells: Cells) -> Cells:
    """Join neighbors of one number, given in the order of their steps."""
    is_first = np.concatenate([[True], cells.number[1:] != cells.number[:-1]])[: len(cells.number)]
    starts = np.flatnonzero(is_first)
    if len(starts) == len(cells.number):
        return cells
    ends = np.append(starts[1:], len(cells.number)) - 1
    finite = np.add.reduceat(cells.finite, starts)
    has_value, has_values = cells.finite > 0, finite > 0
    least = np.minimum.reduceat(np.where(has_value, cells.least, np.inf), starts)
    most = np.maximum.reduceat(np.where(has_value, cells.most, -np.inf), starts)
    # each mean times its part: a sum of large values would have no room
    part = cells.finite / np.maximum(np.repeat(finite, ends - starts + 1), 1)
    mean = np.add.reduceat(np.where(has_value, cells.mean, 0.0) * part, starts)
    return Cells(
        number=cells.number[starts],
        size=np.add.reduceat(cells.size, starts),
        finite=finite,
        flags=np.bitwise_or.reduceat(cells.flags, starts),
        least=np.where(has_values, least, np.nan),
        most=np.where(has_values, most, np.nan),
        mean=np.where(has_values, np.clip(mean, least, most), np.nan),
        last=cells.last[ends],
    )


def joined(parts: "list[Cells]") -> Cells:
    """Join successive cells of one width; the last cell of a part and the first one of the next may be one cell."""
    return merged(Cells(*map(np.concatenate, zip(*parts, strict=True)))) if parts else NO_CELLS


def pack_block(cells: Cells) -> bytes:
    """Return the bytes of the cells of one block."""
    first = int(cells.number[0]) // BLOCK * BLOCK
    columns = cells._replace(number=cells.number - first, finite=cells.size - cells.finite)
    head = bytes([VERSION]) + len(cells.number).to_bytes(2, "little") + first.to_bytes(4, "little")
    return head + b"".join(pack(column, deflate=False) for column in columns)


def unpack_block(data: bytes) -> Cells:
    """Return the cells of a block."""
    assert data[0] == VERSION, f"cells of the unknown version {data[0]}"
    count, at = int.from_bytes(data[1:3], "little"), 7
    columns = []
    for name in Cells._fields:
        column, at = unpack(data, at, count)
        columns.append(column.astype(np.int64 if name in WHOLE else np.float64))
    cells = Cells._make(columns)
    first = int.from_bytes(data[3:7], "little")
    return cells._replace(number=cells.number + first, finite=cells.size - cells.finite)
