"""One pipelined run of a plan on one vector on this rank: several segments of the vector are in flight at once.

While one segment is in its row phase, the segment before it is in its column phase, so the links between hosts stay
busy. Parts are added in the order of the plan, independent of their order of arrival, so every run gives the same bits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.collectives.runners.rank_schedule import Message, RankRound
from trainers.collectives.wire import shared_memory
from trainers.collectives.wire.buffer_pool import byte_view
from trainers.collectives.wire.collective_state import Key, ReceivedPart
from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.failure_detector import AwaitedRank, FailureDetector
from trainers.collectives.wire.frame import DATA, SHARED, Frame

SEGMENTS_IN_FLIGHT = 8
# A rank that starts all segments before it reads arrived parts delays the first segment on all links.
SEGMENTS_IN_FIRST_ROUND = 2
# Segments reuse the slots of the shared memory cyclically, with twice as many slots as segments in flight (W). A rank
# that starts segment s + 2 W has finished s + W, so every rank has started s + W and has finished s: slot s is free.
MEMORY_SLOTS = 2 * SEGMENTS_IN_FLIGHT
SLOT_BYTES = shared_memory.NBYTES // MEMORY_SLOTS
# When little arrives at a time from other hosts, the link is the bottleneck: sleep, so that more bytes arrive per call.
# That costs less processor time, and TCP acknowledgements take 0.4 % of the link instead of 0.9 %.
SLEEP_S = 0.002
SLEEP_BELOW_BYTES = 1 << 16
SLEEP_ABOVE_SEGMENTS = 4  # do not sleep with fewer open segments: at the end, every sleep delays the result


@dataclass
class _Segment:
    """A segment of the vector and its progress."""

    number: int
    vector: Tensor
    step: int = 0  # index into the schedule
    taken: int = 0  # how many parts of the current round are taken
    is_started: bool = False  # the parts of the current round are sent
    unsent: int = 0


class PipelinedAllreduce:
    """Run a plan once, on one vector that is cut into `parts`."""

    def __init__(
        self,
        parts: list[Tensor],
        schedule: list[RankRound],
        *,
        chunks: int,
        connections: Connections,
        wire: torch.dtype | None,
        shares_memory: bool = True,
    ) -> None:
        """`shares_memory=False`: for plans after which a rank does not know that all have begun, as a broadcast."""
        self._shares_memory = shares_memory
        self._schedule, self._chunks, self._wire = schedule, chunks, wire
        self._connections, self._state = connections, connections.state
        numbers = self._state.reserve_segments(len(parts))
        self._segments = {
            number: _Segment(number, part) for number, part in zip(numbers, parts, strict=True)
        }  # those that are not finished
        self._next, self._stop = numbers.start, numbers.stop  # the next segment to start, and the end
        self._steps = {(m.peer, m.number): (step, m) for step, round_ in enumerate(schedule) for m in round_.receives}

    def run(self, *, timeout_s: float) -> None:
        """Carry out the plan on the vector; raise RankLost if a rank fails."""
        connections = self._connections
        detector = FailureDetector(connections, timeout_s=timeout_s, awaited=self._awaited)
        self._state.use_destinations(self._find_destination)
        try:
            self._start_segments()
            while self._segments or connections.has_unsent:
                detector.check_progress(connections.poll(detector.poll_timeout_s))
                self._advance_changed()
                is_long = len(self._segments) > SLEEP_ABOVE_SEGMENTS
                if is_long and 0 < connections.remote_bytes < SLEEP_BELOW_BYTES:
                    time.sleep(SLEEP_S)
        except BaseException as error:
            detector.report_failure(error)
            raise

    def _advance_changed(self) -> None:
        for number in sorted(self._state.take_changed()):
            if number in self._segments and number < self._next:
                self._advance(self._segments[number])
        self._start_segments()

    def _start_segments(self) -> None:
        while self._segments and self._next < min(self._stop, min(self._segments) + SEGMENTS_IN_FLIGHT):
            in_first_round = sum(s.step == 0 for number, s in self._segments.items() if number < self._next)
            if in_first_round >= SEGMENTS_IN_FIRST_ROUND:
                return
            self._next += 1
            self._advance(self._segments[self._next - 1])

    def _advance(self, segment: _Segment) -> None:
        """Run as many rounds of the segment as the arrived parts allow."""
        while segment.step < len(self._schedule):
            round_ = self._schedule[segment.step]
            if not segment.is_started:
                segment.is_started = True
                for message in round_.sends:
                    self._send(segment, message)
            if round_.overwrites_sent and segment.unsent:
                return
            while segment.taken < len(round_.receives):
                if not self._take(segment, round_.receives[segment.taken]):
                    return
                segment.taken += 1
            segment.step, segment.taken, segment.is_started = segment.step + 1, 0, False
        del self._segments[segment.number]

    def _slice(self, segment: _Segment, chunks: range) -> Tensor:
        length = segment.vector.numel()
        return segment.vector[chunks.start * length // self._chunks : chunks.stop * length // self._chunks]

    def _send(self, segment: _Segment, message: Message) -> None:
        part_n = self._slice(segment, message.chunks)
        if not part_n.numel():
            return
        if self._wire is not None:
            rounded_n = part_n.to(self._wire)
            if not message.add:
                part_n.copy_(rounded_n)  # the sender of a final sum must hold the same rounded bits as the receivers
            part_n = rounded_n
        nbytes = part_n.numel() * part_n.element_size()
        connection = self._connections.to[message.peer]
        if (offset := self._shared_offset(segment, message, nbytes)) is not None:
            own = self._connections.rendezvous.shared_memory
            assert own is not None
            own.memory[offset : offset + nbytes].copy_(part_n.view(torch.uint8))
            connection.send(Frame(SHARED, message.number, segment.number, offset, nbytes))
            return
        segment.unsent += 1
        frame = Frame(DATA, message.number, segment.number, 0, nbytes)
        connection.send(frame, byte_view(part_n), on_sent=self._mark_sent(segment, part_n))

    def _mark_sent(self, segment: _Segment, part_n: Tensor) -> Callable[[], None]:
        """Return a callback that also keeps `part_n` alive until the kernel has taken its bytes."""

        def on_sent() -> None:
            segment.unsent -= 1
            self._state.mark_changed(segment.number)

        return on_sent

    def _shared_offset(self, segment: _Segment, message: Message, nbytes: int) -> int | None:
        """Return the part's offset in shared memory; None if the peer cannot read there or the slot is too small."""
        if not self._shares_memory or message.peer not in self._connections.rendezvous.readers:
            return None
        longest_bytes = -(-segment.vector.numel() // self._chunks) * segment.vector.element_size()
        start = message.chunks_before * (-(-longest_bytes // 64) * 64)
        if start + nbytes > SLOT_BYTES:
            return None
        return segment.number % MEMORY_SLOTS * SLOT_BYTES + start

    def _find_destination(self, key: Key) -> Tensor | None:
        """Return the slice for a part that replaces the slice and may be written now; None for all other parts."""
        number, peer, message_number = key
        segment = self._segments.get(number)
        if segment is None or not segment.is_started or self._wire is not None:
            return None
        step, message = self._steps[peer, message_number]
        if step != segment.step or message.add or (self._schedule[step].overwrites_sent and segment.unsent):
            return None
        return self._slice(segment, message.chunks).view(torch.uint8)

    def _take(self, segment: _Segment, message: Message) -> bool:
        """Add or copy the part to the vector if the part has arrived; return whether the part is done."""
        into_n = self._slice(segment, message.chunks)
        if not into_n.numel():
            return True
        part = self._state.take_part((segment.number, message.peer, message.number))
        if part is None:
            return False
        if not part.is_in_place:
            _apply(part, into_n, add=message.add, wire=self._wire)
        self._state.release(part)
        return True

    def _awaited(self) -> list[AwaitedRank]:
        """Return the ranks that the segments in flight await, with the rounds, nearest first."""
        awaited = []
        for segment in self._segments.values():
            for round_ in self._schedule[segment.step :] if segment.number < self._next else self._schedule:
                awaited += [
                    AwaitedRank(m.peer, round_.round)
                    for m in round_.receives
                    if not self._state.has_part((segment.number, m.peer, m.number))
                    and self._slice(segment, m.chunks).numel()
                ]
        return awaited or [
            AwaitedRank(peer, self._schedule[-1].round)  # the peer does not read this rank's last frames
            for peer, connection in self._connections.to.items()
            if connection.has_unsent
        ]


def _apply(part: ReceivedPart, into_n: Tensor, *, add: bool, wire: torch.dtype | None) -> None:
    arrived_n = part.memory[: part.nbytes].view(wire or into_n.dtype)
    if add:
        into_n += arrived_n
    else:
        into_n.copy_(arrived_n)
