"""CollectiveState: the received parts, progress counters and failure of the collectives on one set of connections.

CollectiveState is the only owner of these data: other modules read them and call its methods. Collectives run one at a
time, in the same order on every rank.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from trainers.collectives.wire.buffer_pool import BufferPool, byte_view
from trainers.collectives.wire.frame import DATA, Frame
from trainers.collectives.wire.rank_lost import RankLost

Key = tuple[int, int, int]  # segment, sender, index of the message
FindDestination = Callable[[Key], Tensor | None]


@dataclass
class ReceivedPart:
    """A part of the vector that has arrived."""

    memory: Tensor  # bytes
    nbytes: int
    is_pooled: bool  # the memory belongs to the buffer pool
    is_in_place: bool = False  # the bytes are in the vector already


class CollectiveState:
    """Hold what this rank has received, which segments changed, and why the collectives failed."""

    def __init__(self) -> None:
        self.received_parts = 0  # ever
        self.probes = 0  # PING and PONG frames received ever: they are no progress
        self.failure: RankLost | None = None
        self.responsive: set[int] = set()  # peers that answered the last PING
        self._parts: dict[Key, ReceivedPart] = {}
        self._arriving: dict[int, ReceivedPart] = {}  # by peer
        self._pool = BufferPool()
        self._find_destination: FindDestination = _no_destination
        self._changed: set[int] = set()
        self._next_segment = 0
        self._completed: dict[int, int] = {}  # by peer: the last backend collective that the peer completed

    def reserve_segments(self, count: int) -> range:
        """Return the next `count` segment numbers; they are the same on every rank."""
        first, self._next_segment = self._next_segment, self._next_segment + count
        return range(first, self._next_segment)

    @property
    def next_segment(self) -> int:
        """Return the number of the next reserved segment."""
        return self._next_segment

    def use_destinations(self, find: FindDestination) -> None:
        """Receive parts directly into the vector memory that `find` returns; None selects a buffer of the pool."""
        self._find_destination = find

    def buffer_for(self, peer: int, frame: Frame) -> memoryview:
        """Return the memory for a frame's body: the part's slice of the vector if that is writable, or a buffer."""
        slice_B = self._find_destination((frame.segment, peer, frame.message)) if frame.kind == DATA else None
        if slice_B is not None:
            part = ReceivedPart(slice_B, frame.nbytes, is_pooled=False, is_in_place=True)
        else:
            part = ReceivedPart(self._pool.take(frame.nbytes), frame.nbytes, is_pooled=True)
        self._arriving[peer] = part
        return byte_view(part.memory)[: frame.nbytes]

    def store_body(self, peer: int, frame: Frame) -> None:
        """Store the part whose body is now complete in the memory from `buffer_for`."""
        self._store(peer, frame, self._arriving.pop(peer))

    def store_shared(self, peer: int, frame: Frame, memory_B: Tensor) -> None:
        """Store a part that is in a peer's shared memory."""
        bytes_B = memory_B[frame.offset : frame.offset + frame.nbytes]
        self._store(peer, frame, ReceivedPart(bytes_B, frame.nbytes, is_pooled=False))

    def read_body(self, peer: int, frame: Frame) -> bytes:
        """Return the complete body of a frame that is not a part of the vector."""
        return bytes(byte_view(self._arriving.pop(peer).memory)[: frame.nbytes])

    def has_part(self, key: Key) -> bool:
        """Return whether a stored part waits for `take_part`."""
        return key in self._parts

    def take_part(self, key: Key) -> ReceivedPart | None:
        """Remove and return a part; return None if the part has not arrived. Call `release` after its use."""
        return self._parts.pop(key, None)

    def release(self, part: ReceivedPart) -> None:
        """Make the memory of a used part available again."""
        if part.is_pooled:
            self._pool.give_back(part.memory)

    def mark_changed(self, segment: int) -> None:
        """Record that a segment may be able to advance."""
        self._changed.add(segment)

    def take_changed(self) -> set[int]:
        """Return the segments that changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def record_probe(self) -> None:
        """Count a received PING or PONG."""
        self.probes += 1

    def record_pong(self, peer: int) -> None:
        """Record that a peer answered."""
        self.responsive.add(peer)

    def forget_pongs(self) -> None:
        """Start a new PING: no peer has answered yet."""
        self.responsive = set()

    def record_done(self, peer: int, number: int) -> None:
        """Record that a peer has completed the backend's collective `number`."""
        self._completed[peer] = number

    def is_done(self, peer: int, number: int) -> bool:
        """Return whether a peer reported that it has completed the backend's collective `number`."""
        return self._completed.get(peer, -1) >= number

    def fail(self, error: RankLost) -> None:
        """Record why no further collective can run."""
        self.failure = error

    def raise_if_failed(self) -> None:
        """Raise the recorded failure."""
        if self.failure is not None:
            raise self.failure

    def _store(self, peer: int, frame: Frame, part: ReceivedPart) -> None:
        self.received_parts += 1
        self._parts[frame.segment, peer, frame.message] = part
        self._changed.add(frame.segment)


def _no_destination(key: Key) -> None:
    return None
