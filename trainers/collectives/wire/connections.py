"""The connections of one rank to those that it exchanges messages with, and what has arrived on them."""

import json
import selectors
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.wire.buffer_pool import Staging, as_memory
from trainers.collectives.wire.connection import Line
from trainers.collectives.wire.frame import ASK, DATA, DONE, HERE, SLOT, Frame
from trainers.collectives.wire.rank_lost import RankLost
from trainers.collectives.wire.rendezvous import Meeting

Key = tuple[int, int, int]  # segment, sender, number of the message


@dataclass
class Part:
    """A part that has arrived."""

    memory: Tensor  # bytes
    nbytes: int
    is_staged: bool  # the buffer goes back to the staging when the part was taken in
    has_landed: bool = False  # it lies in the vector already


class Mesh:
    """Carries frames between the ranks of a group; one collective at a time, in the same order on every rank."""

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.meeting = Meeting(group)
        self.rank, self.world = self.meeting.rank, self.meeting.world
        self.lines: dict[int, Line] = {}
        self.parts: dict[Key, Part] = {}
        self.staging = Staging()
        self.landing: Callable[[Key], Tensor | None] = _nowhere  # set by the collective that is under way
        self.next_segment = 0
        self.fresh: set[int] = set()  # segments of which something has arrived
        self.here: set[int] = set()  # peers that answered
        self.questions = 0  # and answers, ever: what is no progress
        self.done: dict[int, int] = {}  # the last sum of the backend that a peer has, of those that it told
        self.from_afar = 0  # bytes that the last wait brought from peers without shared memory
        self.arrivals = 0  # parts, ever
        self.fault: RankLost | None = None  # why nothing can be summed any more
        self._rooms: dict[int, Part] = {}  # what is being received, by peer
        self._selector = selectors.DefaultSelector()
        self.writers: set[int] = set()  # peers whose line has more to send than the kernel takes

    def link(self, peers: Iterable[int], *, timeout_s: float) -> None:
        """Connect to the peers that are not connected yet; they do the same. The higher rank calls the lower one."""
        missing = set(peers) - self.lines.keys()
        try:
            for peer in sorted(peer for peer in missing if peer < self.rank):
                self._add(self.meeting.call(peer, timeout_s=timeout_s))
            while not self.lines.keys() >= missing:
                self._add(self.meeting.answer(timeout_s=timeout_s))
        except OSError as error:
            absent = sorted(missing - self.lines.keys())
            who = f"rank{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))}"
            message = f"{who} said nothing when rank {self.rank} wanted to connect ({error})"
            raise RankLost(message, absent, is_silent=True) from error

    def wait(self, patience_s: float) -> int:
        """Move bytes until something has happened or patience ends; return how many."""
        self._mark_writers()
        moved = self.from_afar = 0
        for key, events in self._selector.select(patience_s):
            line = key.data
            if events & selectors.EVENT_READ:
                received = line.receive(self)
                moved += received
                self.from_afar += received if line.peer not in self.meeting.readers else 0
            if events & selectors.EVENT_WRITE:
                moved += line.flush()
        return moved

    @property
    def has_unsent(self) -> bool:
        return any(line.has_unsent for line in self.lines.values())

    def room(self, peer: int, frame: Frame) -> memoryview:
        """Return the part's place in the vector if it is free, else a buffer."""
        place_B = self.landing((frame.segment, peer, frame.message)) if frame.kind == DATA else None
        if place_B is not None:
            self._rooms[peer] = Part(place_B, frame.nbytes, is_staged=False, has_landed=True)
        else:
            self._rooms[peer] = Part(self.staging.take(frame.nbytes), frame.nbytes, is_staged=True)
        return as_memory(self._rooms[peer].memory)[: frame.nbytes]

    def arrived(self, peer: int, frame: Frame) -> None:
        """Keep the part until the collective takes it, or answer what a peer wants to know."""
        self.questions += frame.kind in (ASK, HERE)
        if frame.kind == DATA:
            self._keep(peer, frame, self._rooms.pop(peer))
        elif frame.kind == SLOT:
            bytes_B = self.meeting.memories[peer][frame.offset : frame.offset + frame.nbytes]
            self._keep(peer, frame, Part(bytes_B, frame.nbytes, is_staged=False))
        elif frame.kind == ASK:
            self.lines[peer].post(Frame(HERE))
        elif frame.kind == HERE:
            self.here.add(peer)
        elif frame.kind == DONE:
            self.done[peer] = frame.segment
        else:
            told = json.loads(bytes(as_memory(self._rooms.pop(peer).memory)[: frame.nbytes]))
            raise RankLost(told["message"], told["ranks"], is_silent=told["is_silent"], in_round=told["in_round"])

    def part(self, patience_s: float) -> None:
        """Send what is posted, then hang up, and wait until the peers have done so too: they may have more to read."""
        until = time.monotonic() + patience_s
        is_open = True
        while is_open and time.monotonic() < until:
            with suppress(RankLost):
                self.wait(0.01)
            for line in self.lines.values():
                line.hang_up()
            is_open = any(not line.is_closed for line in self.lines.values())

    def _keep(self, peer: int, frame: Frame, part: Part) -> None:
        self.arrivals += 1
        self.parts[frame.segment, peer, frame.message] = part
        self.fresh.add(frame.segment)

    def _add(self, line: Line) -> None:
        self.lines[line.peer] = line
        self._selector.register(line.sock, selectors.EVENT_READ, line)

    def _mark_writers(self) -> None:
        for line in self.lines.values():
            has_more = line.peer in self.writers
            if line.is_closed and line.sock.fileno() >= 0:
                self._selector.unregister(line.sock)
                line.sock.close()
            elif line.has_unsent is not has_more:
                events = selectors.EVENT_READ | (0 if has_more else selectors.EVENT_WRITE)
                self._selector.modify(line.sock, events, line)
                (self.writers.discard if has_more else self.writers.add)(line.peer)


def _nowhere(key: Key) -> None:
    return None
