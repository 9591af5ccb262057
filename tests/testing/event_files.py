"""TensorBoard's event files as its writers make them, so that tests need neither TensorBoard nor TensorFlow."""

import struct
from collections.abc import Mapping
from pathlib import Path

from agent.sources.records import masked_checksum


def varint(value: int) -> bytes:
    """Return an integer on the wire."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, data: bytes) -> bytes:
    """Return a field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def record(data: bytes) -> bytes:
    """Return a record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    sums = (struct.pack("<I", masked_checksum(part)) for part in (length, data))
    return length + next(sums) + data + next(sums)


def event(step: int, *values: bytes, at: float = 100.0) -> bytes:
    """Return an Event with a Summary of these Values."""
    head = varint(1 << 3 | 1) + struct.pack("<d", at) + varint(2 << 3) + varint(step)
    return head + field(5, b"".join(field(1, value) for value in values))


def simple_value(tag: str, value: float) -> bytes:
    """Return a Value with a simple_value, as the writers of torch and tensorboardX make it."""
    return field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)


def tensor_value(tag: str, dtype: int, content: bytes, *, shape: bytes = b"") -> bytes:
    """Return a Value with a tensor, as TensorFlow 2 and Keras make it."""
    tensor = varint(1 << 3) + varint(dtype) + field(2, shape) + content
    return field(1, tag.encode()) + field(9, field(1, field(1, b"scalars"))) + field(8, tensor)


def scalars(step: int, values: Mapping[str, float], *, at: float = 100.0) -> bytes:
    """Return the records of several scalars of one step, one record each."""
    return b"".join(record(event(step, simple_value(tag, value), at=at)) for tag, value in values.items())


def append(path: Path, data: bytes) -> None:
    """Append to an event file, which is made with its folder and its version record."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        head = varint(1 << 3 | 1) + struct.pack("<d", 1.0)
        path.write_bytes(record(head + field(3, b"brain.Event:2")))
    with path.open("ab") as file:
        file.write(data)
