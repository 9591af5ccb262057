"""One connection to one peer: frames go out and come in, and nothing ever blocks."""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from trainers.collectives.wire.frame import DATA, FAULT, HEADER, Frame

Nothing = memoryview(b"")


class Station(Protocol):
    """Who takes frames in."""

    def room(self, peer: int, frame: Frame) -> memoryview:
        """Return where the frame's bytes shall be written."""

    def arrived(self, peer: int, frame: Frame) -> None:
        """Hear that the frame is whole."""


@dataclass
class _Parcel:
    """A frame on its way out: what is left of its header and bytes."""

    rest: list[memoryview]
    on_sent: Callable[[], None] | None  # called when the last byte is with the kernel
    is_begun: bool = False

    def strike_off(self, count: int) -> int:
        """Forget the first `count` bytes, and return how many of them are not this frame's."""
        self.is_begun = True
        while self.rest and count >= len(self.rest[0]):
            count -= len(self.rest.pop(0))
        if self.rest:
            self.rest[0] = self.rest[0][count:]
            return 0
        return count


class Line:
    """A non-blocking connection to `peer`."""

    def __init__(self, sock: socket.socket, peer: int) -> None:
        self.sock, self.peer = sock, peer
        self.is_closed = False
        self._out: deque[_Parcel] = deque()
        self._head = memoryview(bytearray(HEADER.size))
        self._frame: Frame | None = None
        self._rest = self._head  # what is still to be read of the header or of the frame's bytes

    def post(self, frame: Frame, body: memoryview = Nothing, *, on_sent: Callable[[], None] | None = None) -> None:
        """Send a frame, now or as soon as the kernel takes it; `body` must stay as it is until `on_sent`."""
        if self.is_closed:
            return
        if len(body) <= 4096:  # one piece costs less than two
            self._out.append(_Parcel([memoryview(frame.packed() + body)], None))
            if on_sent is not None:
                on_sent()
        else:
            self._out.append(_Parcel([memoryview(frame.packed()), body], on_sent))
        if len(self._out) == 1:
            self.flush()

    @property
    def has_unsent(self) -> bool:
        return bool(self._out)

    def flush(self) -> int:
        """Give the kernel what it takes; return how many bytes that was."""
        total = 0
        while self._out and not self.is_closed:
            try:
                count = self.sock.sendmsg([part for parcel in islice(self._out, 4) for part in parcel.rest])
            except BlockingIOError:
                break
            except OSError:
                self.close()
                break
            total += count
            self._strike_off(count)
        return total

    def receive(self, station: Station) -> int:
        """Read what is there, and hand whole frames to the station; return how many bytes that was."""
        total = 0
        while not self.is_closed:
            try:
                count = self.sock.recv_into(self._rest)
            except BlockingIOError:
                break
            except OSError:
                count = 0
            if count == 0:
                self.close()
                break
            total += count
            self._rest = self._rest[count:]
            if not self._rest:
                self._turn_over(station)
        return total

    def abandon(self) -> None:
        """Forget all that waits to be sent, but for a frame whose first bytes are away."""
        while self._out and not self._out[-1].is_begun:
            self._out.pop()

    def hang_up(self) -> None:
        """Say that nothing more will come, once all is sent."""
        if not self._out and not self.is_closed:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Part; what the peer sent before was read."""
        self.is_closed = True
        self._out.clear()

    def _strike_off(self, count: int) -> None:
        while count:
            parcel = self._out[0]
            count = parcel.strike_off(count)
            if not parcel.rest:
                self._out.popleft()
                if parcel.on_sent is not None:
                    parcel.on_sent()

    def _turn_over(self, station: Station) -> None:
        """Go from a whole header to its bytes, or from whole bytes to the next header."""
        if self._frame is None:
            frame = Frame(*HEADER.unpack(self._head))
            if frame.kind in (DATA, FAULT) and frame.nbytes:
                self._frame, self._rest = frame, station.room(self.peer, frame)
                return
        else:
            frame = self._frame
        self._frame, self._rest = None, self._head
        station.arrived(self.peer, frame)
