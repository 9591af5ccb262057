"""A reader of the wire format of protocol buffers: the fields of one message, without a description of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAX_VARINT_BYTES = 10


class DamagedMessage(ValueError):
    """The bytes are no message."""


class Field(NamedTuple):
    """One field: its number, and an integer, or the bytes of another type."""

    number: int
    integer: int
    data: bytes


def read_fields(message: bytes) -> Iterator[Field]:
    """Yield the fields in their order; raise DamagedMessage."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            integer, at = _varint(message, at)
            yield Field(number, integer, b"")
            continue
        if wire_type == 2:
            length, at = _varint(message, at)
        elif wire_type in (1, 5):
            length = 8 if wire_type == 1 else 4
        else:
            raise DamagedMessage(f"unknown wire type {wire_type}")
        data = message[at : at + length]
        if len(data) < length:
            raise DamagedMessage("a field is longer than its message")
        at += length
        yield Field(number, 0, data)


def double_of(data: bytes) -> float:
    """Return the number in eight bytes."""
    return float(_unpacked("<d", data))


def float_of(data: bytes) -> float:
    """Return the number in four bytes, as its writer would print it."""
    return shortest_float(float(_unpacked("<f", data)))


def shortest_float(value: float, packed: str = "<f") -> float:
    """Return the number with the fewest digits that a float32 (or `<e`) stores as this value: 0.1 for 0.10000000149."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        try:
            if struct.pack(packed, short) == struct.pack(packed, value):
                return short
        except OverflowError:  # rounded to more than the largest one
            continue
    return float(f"{value:.9g}")


def signed(integer: int) -> int:
    """Return an int64 that the wire has as an unsigned number."""
    return integer - (1 << 64) if integer >= 1 << 63 else integer


def varints_of(data: bytes) -> list[int]:
    """Return the integers of a packed field."""
    found, at = [], 0
    while at < len(data):
        integer, at = _varint(data, at)
        found.append(signed(integer))
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(MAX_VARINT_BYTES):
        if at + place >= len(message):
            break
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise DamagedMessage("a number has no end")


def _unpacked(pattern: str, data: bytes) -> float:
    try:
        return float(struct.unpack(pattern, data)[0])
    except struct.error as error:
        raise DamagedMessage(str(error)) from error
