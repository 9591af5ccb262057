"""Packed columns: the bytes of chunks, of blocks of cells, and of the newest points of a series.

A packed column is its type, its form, its length and its bytes. A whole number takes the smallest type that has room
for the column's largest one, a real number four bytes where every value of the column is exact in four. A column whose
items are all equal is one item; other columns may be deflated, sorted by the significance of their bytes.
The first byte of a chunk or block is the version of this format. Rows of all earlier versions remain readable.
"""

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

VERSION = 1
TYPES = ("<u1", "<u2", "<u4", "<u8", "<f4", "<f8")
ONE, RAW, DEFLATED = range(3)  # forms
HEAD = struct.Struct("<BBI")
CHUNK_HEAD = struct.Struct("<BII")  # version, number of points, first step
TAIL = np.dtype([("step", "<i4"), ("value", "<f8")])
MIN_DEFLATED = 256  # bytes: below, a column stays as it is


class Points(NamedTuple):
    """Points of one series by ascending steps, no step twice; a value may be NaN or infinite."""

    steps: Integers
    values: Reals

    def where(self, which: "NDArray[np.bool_] | slice") -> "Points":
        """Return the points of the mask or slice."""
        return Points(self.steps[which], self.values[which])


NO_POINTS = Points(np.empty(0, np.int64), np.empty(0, np.float64))


def pack_tail(points: Points) -> bytes:
    """Return points as rows of 12 bytes, which can be extended."""
    rows = np.empty(len(points.steps), TAIL)
    rows["step"], rows["value"] = points.steps, points.values
    return rows.tobytes()


def unpack_tail(data: bytes) -> Points:
    """Return the points of `pack_tail`."""
    rows = np.frombuffer(data, TAIL)
    return Points(rows["step"].astype(np.int64), rows["value"].astype(np.float64))


def pack_points(points: Points, *, deflate: bool) -> bytes:
    """Return the bytes of a chunk; there is at least one point."""
    head = CHUNK_HEAD.pack(VERSION, len(points.steps), int(points.steps[0]))
    return head + pack(np.diff(points.steps), deflate=deflate) + pack(points.values, deflate=deflate)


def unpack_points(data: bytes) -> Points:
    """Return the points of a chunk."""
    version, count, first = CHUNK_HEAD.unpack_from(data)
    assert version == VERSION, f"a chunk of the unknown version {version}"
    distances, at = unpack(data, CHUNK_HEAD.size, count - 1)
    values, _ = unpack(data, at, count)
    steps = np.empty(count, np.int64)
    steps[0] = first
    np.cumsum(distances, out=steps[1:])
    steps[1:] += first
    return Points(steps, values.astype(np.float64))


def pack(column: Integers | Reals, *, deflate: bool) -> bytes:
    """Return a column as bytes; whole numbers are not negative."""
    small = _reals(column) if column.dtype.kind == "f" else column.astype(_integer_type(column))
    kind, raw = TYPES.index(small.dtype.str if small.dtype.itemsize > 1 else "<u1"), small.tobytes()
    size = small.dtype.itemsize
    if len(small) and raw == raw[:size] * len(small):
        return HEAD.pack(kind, ONE, size) + raw[:size]
    if deflate and len(raw) >= MIN_DEFLATED:
        by_byte = np.frombuffer(raw, np.uint8).reshape(-1, size).T.tobytes()
        if len(packed := zlib.compress(by_byte, 1)) < 0.95 * len(raw):
            return HEAD.pack(kind, DEFLATED, len(packed)) + packed
    return HEAD.pack(kind, RAW, len(raw)) + raw


def unpack(data: bytes, at: int, count: int) -> tuple[NDArray[Any], int]:
    """Return the column of `count` items at a byte of the data, and the byte after the column."""
    kind, form, size = HEAD.unpack_from(data, at)
    start, end, dtype = at + HEAD.size, at + HEAD.size + size, np.dtype(TYPES[kind])
    if form == ONE:
        return np.full(count, np.frombuffer(data, dtype, 1, start)[0]), end
    if form == RAW:
        return np.frombuffer(data, dtype, count, start), end
    by_byte = np.frombuffer(zlib.decompress(memoryview(data)[start:end]), np.uint8)
    return by_byte.reshape(dtype.itemsize, count).T.copy().view(dtype).reshape(count), end


def _integer_type(column: Integers | Reals) -> str:
    largest = int(column.max()) if len(column) else 0
    return next(name for name in TYPES[:4] if largest <= np.iinfo(name).max)


def _reals(column: Integers | Reals) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        short = column.astype("<f4")
    is_exact = (short == column) | (np.isnan(short) & np.isnan(column))
    return short if bool(is_exact.all()) else column.astype("<f8")
