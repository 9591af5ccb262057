"""One vector's way through a plan on this rank: cut into segments, of which several are under way at once.

While one segment is in its row phase the one before it is in its column phase, so the links between hosts never rest.
Every part is added in the plan's order, whatever order it arrives in: every repeat gives the same bits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.collectives.runners.rank_schedule import Message, Turn
from trainers.collectives.wire import shared_memory as arena
from trainers.collectives.wire.buffer_pool import as_memory
from trainers.collectives.wire.connections import Key, Mesh, Part
from trainers.collectives.wire.failure_detector import Inquest, Wait
from trainers.collectives.wire.frame import DATA, SLOT, Frame

UNDER_WAY = 8  # segments at once
# Whoever begins all of them before it looks at what has arrived keeps the links waiting for the first.
BEGINNERS = 2  # segments in their first turn
# The shared memory is used in turns, twice as many as there are segments under way. A rank that begins segment s + 2 W
# has finished s + W, so every rank has begun s + W and has finished s: what segment s left there has been read.
TURNS_OF_MEMORY = 2 * UNDER_WAY
MEMORY_BYTES = arena.BYTES // TURNS_OF_MEMORY
# A link between hosts that brings little at a time is slow, and the kernel has enough to send: let arrivals gather.
# That is less work, and fewer acknowledgements take their share of the link (0.4 % of it instead of 0.9 %).
NAP_S = 0.002
NAP_BYTES = 1 << 16
NAP_SEGMENTS = 4  # not at the end, where every moment counts


@dataclass
class _Segment:
    """A part of the vector, and how far it is."""

    number: int
    vector: Tensor
    turn: int = 0
    taken: int = 0  # how many of the turn's parts
    is_begun: bool = False  # the turn's parts are sent off
    unsent: int = 0


class Passage:
    """One call of a plan."""

    def __init__(
        self, parts: list[Tensor], turns: list[Turn], *, chunks: int, mesh: Mesh, wire: torch.dtype | None
    ) -> None:
        self._turns, self._chunks, self._mesh, self._wire = turns, chunks, mesh, wire
        first, mesh.next_segment = mesh.next_segment, mesh.next_segment + len(parts)
        self._segments = {first + i: _Segment(first + i, part) for i, part in enumerate(parts)}
        self._next = first  # the segment to begin next
        self._last = mesh.next_segment
        self._awaited = {(m.peer, m.number): (i, m) for i, turn in enumerate(turns) for m in turn.receives}

    def run(self, *, timeout_s: float) -> None:
        """Sum the vector, or raise RankLost."""
        mesh = self._mesh
        inquest = Inquest(mesh, timeout_s=timeout_s, waits=self._waits)
        mesh.landing = self._landing
        try:
            self._begin_more()
            while self._segments or mesh.has_unsent:
                inquest.look(mesh.wait(inquest.patience_s))
                self._go_on()
                if 0 < mesh.from_afar < NAP_BYTES and len(self._segments) > NAP_SEGMENTS:
                    time.sleep(NAP_S)
        except BaseException as error:
            inquest.tell_all(error)
            raise

    def _go_on(self) -> None:
        fresh, self._mesh.fresh = self._mesh.fresh, set()
        for number in sorted(fresh):
            if number in self._segments and number < self._next:
                self._advance(self._segments[number])
        self._begin_more()

    def _begin_more(self) -> None:
        while self._segments and self._next < min(self._last, min(self._segments) + UNDER_WAY):
            if sum(s.turn == 0 for number, s in self._segments.items() if number < self._next) >= BEGINNERS:
                return
            self._next += 1
            self._advance(self._segments[self._next - 1])

    def _advance(self, segment: _Segment) -> None:
        """Take as many turns as what has arrived allows."""
        while segment.turn < len(self._turns):
            turn = self._turns[segment.turn]
            if not segment.is_begun:
                segment.is_begun = True
                for message in turn.sends:
                    self._send(segment, message)
            if turn.writes_sent and segment.unsent:
                return
            while segment.taken < len(turn.receives):
                if not self._take(segment, turn.receives[segment.taken]):
                    return
                segment.taken += 1
            segment.turn, segment.taken, segment.is_begun = segment.turn + 1, 0, False
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
                part_n.copy_(rounded_n)  # a sum that others keep is kept alike by who made it
            part_n = rounded_n
        nbytes = part_n.numel() * part_n.element_size()
        line = self._mesh.lines[message.peer]
        if (offset := self._slot(segment, message, nbytes)) is not None:
            own = self._mesh.meeting.arena
            assert own is not None
            own.memory[offset : offset + nbytes].copy_(part_n.view(torch.uint8))
            line.post(Frame(SLOT, message.number, segment.number, offset, nbytes))
            return
        segment.unsent += 1
        frame = Frame(DATA, message.number, segment.number, 0, nbytes)
        line.post(frame, as_memory(part_n), on_sent=self._sent(segment, part_n))

    def _sent(self, segment: _Segment, part_n: Tensor) -> Callable[[], None]:
        def on_sent() -> None:
            segment.unsent -= 1
            self._mesh.fresh.add(segment.number)

        return on_sent

    def _slot(self, segment: _Segment, message: Message, nbytes: int) -> int | None:
        """Where in the shared memory the part goes; None if its receiver can't read there, or there is no room."""
        if message.peer not in self._mesh.meeting.readers:
            return None
        longest_bytes = -(-segment.vector.numel() // self._chunks) * segment.vector.element_size()
        start = message.before * (-(-longest_bytes // 64) * 64)
        if start + nbytes > MEMORY_BYTES:
            return None
        return segment.number % TURNS_OF_MEMORY * MEMORY_BYTES + start

    def _landing(self, key: Key) -> Tensor | None:
        """The place of a part that is awaited now and kept as it is."""
        number, peer, told = key
        segment = self._segments.get(number)
        if segment is None or not segment.is_begun or self._wire is not None:
            return None
        turn, message = self._awaited[peer, told]
        if turn != segment.turn or message.add or (self._turns[turn].writes_sent and segment.unsent):
            return None
        return self._slice(segment, message.chunks).view(torch.uint8)

    def _take(self, segment: _Segment, message: Message) -> bool:
        """Take in the part if it has arrived."""
        into_n = self._slice(segment, message.chunks)
        if not into_n.numel():
            return True
        part = self._mesh.parts.pop((segment.number, message.peer, message.number), None)
        if part is None:
            return False
        if not part.has_landed:
            _take_in(part, into_n, add=message.add, wire=self._wire)
        if part.is_staged:
            self._mesh.staging.give_back(part.memory)
        return True

    def _waits(self) -> list[Wait]:
        """Which ranks the segments under way wait for, nearest first, and in which round."""
        waits = []
        for segment in self._segments.values():
            for turn in self._turns[segment.turn :] if segment.number < self._next else self._turns:
                waits += [
                    Wait(m.peer, turn.round)
                    for m in turn.receives
                    if (segment.number, m.peer, m.number) not in self._mesh.parts
                    and self._slice(segment, m.chunks).numel()
                ]
        unread = [Wait(peer, self._turns[-1].round) for peer, line in self._mesh.lines.items() if line.has_unsent]
        return waits or unread


def _take_in(part: Part, into_n: Tensor, *, add: bool, wire: torch.dtype | None) -> None:
    arrived_n = part.memory[: part.nbytes].view(wire or into_n.dtype)
    if add:
        into_n += arrived_n
    else:
        into_n.copy_(arrived_n)
