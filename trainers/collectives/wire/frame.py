"""Frames: the messages on a connection between two ranks, each a header and a body."""

import struct
from typing import NamedTuple

HEADER = struct.Struct("<BIQQI")

DATA = 1  # the body is a part of the vector
SHARED = 2  # the part is in the sender's shared memory, at `offset`; no body
PING = 3  # asks the peer for a PONG
PONG = 4  # answers a PING: this rank is in a collective
ABORT = 5  # the collective failed; the body is the reason in JSON
DONE = 6  # the sender has completed the backend's collective numbered `segment`


class Frame(NamedTuple):
    """The header of one frame."""

    kind: int
    message: int = 0  # index among all messages of the plan from the sender to the receiver
    segment: int = 0  # counted over all calls
    offset: int = 0  # byte offset in the sender's shared memory
    nbytes: int = 0

    def packed(self) -> bytes:
        """Return the header in the wire format."""
        return HEADER.pack(*self)
