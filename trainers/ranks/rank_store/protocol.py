"""The messages between a rank and the store of the ranks: a length, then fields, each with its own length.

A request is an operation, then its arguments. A reply is OK, then the results, or ERROR and a text.
"""

import struct
from collections.abc import Sequence

PURPOSE = "store"  # of the connections, in their handshake
LIMIT_BYTES = 1 << 20  # of one message
SET, GET, WAIT, CHECK, ADD, DELETE = b"set", b"get", b"wait", b"check", b"add", b"delete"
OK, ERROR = b"ok", b"error"
_LENGTH = struct.Struct("<I")


def encode(fields: Sequence[bytes]) -> bytes:
    """Return the fields as one message; raise ValueError above LIMIT_BYTES."""
    body = b"".join([_LENGTH.pack(len(field)) + field for field in fields])
    if len(body) > LIMIT_BYTES:
        raise ValueError(f"a message of {len(body)} bytes exceeds the store's limit of {LIMIT_BYTES} bytes")
    return _LENGTH.pack(len(body)) + body


class MessageBuffer:
    """The received bytes of one connection."""

    def __init__(self) -> None:
        self._received = b""

    def add(self, part: bytes) -> list[bytes] | None:
        """Add received bytes; return the fields of the message once it is complete.

        Each end sends its next message only after it has received the other's, so no bytes follow a message. Raise
        ValueError if the message is malformed or larger than LIMIT_BYTES.
        """
        self._received += part
        if len(self._received) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._received)
        if length > LIMIT_BYTES or len(self._received) > _LENGTH.size + length:
            raise ValueError(f"a message of {length} bytes is malformed; the limit is {LIMIT_BYTES} bytes")
        if len(self._received) < _LENGTH.size + length:
            return None
        received, self._received = self._received, b""
        return _fields(received)


def _fields(message: bytes) -> list[bytes]:
    fields, start = [], _LENGTH.size
    while start < len(message):
        end = start + _LENGTH.size
        if end > len(message):
            raise ValueError("a message ends within a field's length")
        (length,) = _LENGTH.unpack_from(message, start)
        if end + length > len(message):
            raise ValueError("a message ends within a field")
        fields.append(message[end : end + length])
        start = end + length
    return fields
