"""What travels on a connection between two ranks: frames, each a header and its bytes."""

import struct
from typing import NamedTuple

HEADER = struct.Struct("<BIQQI")

DATA = 1  # the part itself follows
SLOT = 2  # the part lies in the sender's shared memory, at `offset`
ASK = 3  # are you there?
HERE = 4  # yes, and waiting too
FAULT = 5  # the collective is lost; the reason follows
DONE = 6  # I have the sum numbered `segment`, and don't wait for anyone


class Frame(NamedTuple):
    """The header of one frame."""

    kind: int
    message: int = 0  # which of all messages that the plan sends from this rank to that one
    segment: int = 0  # counted over all calls
    offset: int = 0  # where in the sender's shared memory
    nbytes: int = 0

    def packed(self) -> bytes:
        return HEADER.pack(*self)
