"""A non-blocking connection that sends frames to one peer and receives frames from that peer."""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from trainers.collectives.wire.frame import ABORT, DATA, HEADER, Frame

EMPTY = memoryview(b"")
COPIED_BYTES = 4096  # up to this size, one copied buffer is cheaper than two separate ones
FRAMES_PER_CALL = 4  # frames that one sendmsg() gathers


class FrameReceiver(Protocol):
    """Receive the frames of all connections."""

    def buffer_for(self, peer: int, frame: Frame) -> memoryview:
        """Return the memory for the frame's body."""

    def on_frame(self, peer: int, frame: Frame) -> None:
        """Process a complete frame."""


@dataclass
class _OutgoingFrame:
    """A frame in the send queue, with the buffers that the kernel has not taken yet."""

    buffers: list[memoryview]
    on_sent: Callable[[], None] | None  # called when the kernel has taken the last byte
    is_started: bool = False

    def mark_sent(self, count: int) -> int:
        """Remove the first `count` bytes; return how many of them belong to the next frame."""
        self.is_started = True
        while self.buffers and count >= len(self.buffers[0]):
            count -= len(self.buffers.pop(0))
        if self.buffers:
            self.buffers[0] = self.buffers[0][count:]
            return 0
        return count


class Connection:
    """Send and receive frames on a non-blocking socket to `peer`."""

    def __init__(self, sock: socket.socket, peer: int) -> None:
        self.sock, self.peer = sock, peer
        self.is_closed = False
        self._queue: deque[_OutgoingFrame] = deque()
        self._header = memoryview(bytearray(HEADER.size))
        self._frame: Frame | None = None  # the frame whose body is being received
        self._unfilled = self._header  # the part of the header or body that is still to be received

    def send(self, frame: Frame, body: memoryview = EMPTY, *, on_sent: Callable[[], None] | None = None) -> None:
        """Send a frame as soon as the kernel takes the bytes; do not change `body` before `on_sent` is called."""
        if self.is_closed:
            return
        if len(body) <= COPIED_BYTES:
            self._queue.append(_OutgoingFrame([memoryview(frame.packed() + body)], None))
            if on_sent is not None:
                on_sent()
        else:
            self._queue.append(_OutgoingFrame([memoryview(frame.packed()), body], on_sent))
        if len(self._queue) == 1:
            self.flush()

    @property
    def has_unsent(self) -> bool:
        """Return whether bytes wait for the kernel."""
        return bool(self._queue)

    def flush(self) -> int:
        """Give queued bytes to the kernel until it takes no more; return how many bytes the kernel took."""
        total = 0
        while self._queue and not self.is_closed:
            try:
                frames = islice(self._queue, FRAMES_PER_CALL)
                count = self.sock.sendmsg([buffer for frame in frames for buffer in frame.buffers])
            except BlockingIOError:
                break
            except OSError:
                self.close()
                break
            total += count
            self._mark_sent(count)
        return total

    def receive(self, receiver: FrameReceiver) -> int:
        """Read all available bytes, pass complete frames to `receiver`, and return how many bytes were read."""
        total = 0
        while not self.is_closed:
            try:
                count = self.sock.recv_into(self._unfilled)
            except BlockingIOError:
                break
            except OSError:
                count = 0
            if count == 0:
                self.close()
                break
            total += count
            self._unfilled = self._unfilled[count:]
            if not self._unfilled:
                self._finish_header_or_body(receiver)
        return total

    def discard_unsent(self) -> None:
        """Remove queued frames, except a frame that is partly sent."""
        while self._queue and not self._queue[-1].is_started:
            self._queue.pop()

    def finish_sending(self) -> None:
        """Close the sending direction, if all frames are sent."""
        if not self._queue and not self.is_closed:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Mark the connection as closed and discard the send queue; the socket stays open until `release_socket`."""
        self.is_closed = True
        self._queue.clear()

    def release_socket(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _mark_sent(self, count: int) -> None:
        while count:
            frame = self._queue[0]
            count = frame.mark_sent(count)
            if not frame.buffers:
                self._queue.popleft()
                if frame.on_sent is not None:
                    frame.on_sent()

    def _finish_header_or_body(self, receiver: FrameReceiver) -> None:
        """After a header, prepare for the frame's body; after a body, or a header without body, deliver the frame."""
        if self._frame is None:
            frame = Frame(*HEADER.unpack(self._header))
            if frame.kind in (DATA, ABORT) and frame.nbytes:
                self._frame, self._unfilled = frame, receiver.buffer_for(self.peer, frame)
                return
        else:
            frame = self._frame
        self._frame, self._unfilled = None, self._header
        receiver.on_frame(self.peer, frame)
