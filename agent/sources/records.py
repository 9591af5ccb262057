"""TFRecord, the format of TensorBoard's event files: whole records from a byte on.

A record is its length (8 bytes), the length's checksum (4), the data, and the data's checksum (4).
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from runfiles.regular_file import open_regular

HEAD_BYTES, FOOT_BYTES = 12, 4
MAX_RECORD_BYTES = 1 << 16  # a longer record is an image or a graph: it is skipped
_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reversed


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


class Records(NamedTuple):
    """New whole records' data, the byte after the last one, whether the file goes on, and how many were damaged."""

    records: list[bytes]
    cursor: int
    more: bool
    damaged: int = 0


def masked_checksum(data: bytes) -> int:
    """Return the checksum of TFRecord: a rotated CRC-32C plus a constant."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_records(path: str, cursor: int, max_bytes: int) -> Records:
    """Read the whole records from byte `cursor` on; a record without its end waits.

    A record whose data are damaged is skipped; a damaged length hides all that follows, and the cursor stays before it.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= cursor:
                return Records([], cursor, False)
            file.seek(cursor)
            new = file.read(max_bytes)
    except OSError:
        return Records([], cursor, False)
    records: list[bytes] = []
    at = damaged = 0
    while at + HEAD_BYTES <= len(new):
        length = _length(new[at : at + HEAD_BYTES])
        if length is None:
            return Records(records, cursor + at, False, damaged)
        end = at + HEAD_BYTES + length + FOOT_BYTES
        if cursor + end > size:
            return Records(records, cursor + at, False, damaged)  # the program has not yet written the rest
        if length > MAX_RECORD_BYTES:
            at = end
            if end > len(new):
                return Records(records, cursor + end, True, damaged)
            continue
        if end > len(new):
            break  # the next read has it whole
        data = new[at + HEAD_BYTES : end - FOOT_BYTES]
        if masked_checksum(data) == struct.unpack("<I", new[end - FOOT_BYTES : end])[0]:
            records.append(data)
        else:
            damaged += 1
        at = end
    return Records(records, cursor + at, at > 0 and cursor + len(new) < size, damaged)


def _length(head: bytes) -> int | None:
    """Return the length of a record, None if its checksum is wrong."""
    length, checksum = struct.unpack("<QI", head)
    return int(length) if masked_checksum(head[:8]) == checksum else None
