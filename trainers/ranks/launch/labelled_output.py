"""The output of several ranks on this machine, each line with its rank in front, as `srun --label` writes it."""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

MOST = 1 << 16  # bytes of a line; the rest of a longer one gets the label again
LOOK_S = 0.1
LAST_S = 2.0  # after the end of the ranks: a process that one of them left behind may write without a pause
STREAMS = (1, 2)  # standard output and standard error


class RankOutput:
    """The ends of one rank's pipes, for standard output and standard error; the rank's process gets this object."""

    def __init__(self, ends: Sequence[Connection]) -> None:
        self._ends = ends

    def redirect(self) -> None:
        """Let this process, and those that it starts, write into the pipes."""
        for end, stream in zip(self._ends, STREAMS, strict=True):
            os.dup2(end.fileno(), stream)
        self.close()

    def close(self) -> None:
        """Close the ends; without an end in this process the reader sees that the rank has ended."""
        for end in self._ends:
            end.close()


class _Lines:
    """What one rank has written to one stream, and the end of it that is no line yet."""

    def __init__(self, label: bytes, stream: int) -> None:
        self._label, self._stream, self._rest = label, stream, b""

    def add(self, text: bytes) -> None:
        """Write all lines that are complete."""
        *lines, self._rest = (self._rest + text).split(b"\n")
        self._write(lines)
        while len(self._rest) > MOST:
            self._write([self._rest[:MOST]])
            self._rest = self._rest[MOST:]

    def end(self) -> None:
        """Write a line that the rank did not complete."""
        self._write([self._rest] if self._rest else [])
        self._rest = b""

    def _write(self, lines: Sequence[bytes]) -> None:
        text = memoryview(b"".join(self._label + line + b"\n" for line in lines))
        with suppress(OSError):  # a full disk must not stop the ranks, which wait until their output is read
            while text:
                text = text[os.write(self._stream, text) :]


class LabelledOutput:
    """Pipes from all ranks to this process's own output, and the thread that reads them."""

    def __init__(self, world: int, context: BaseContext) -> None:
        self.ranks: list[RankOutput] = []
        self._lines: dict[Connection, _Lines] = {}
        self._has_ended = threading.Event()
        for rank in range(world):
            label, ends = f"{rank:>{len(str(world - 1))}}: ".encode(), []
            for stream in STREAMS:
                read, write = context.Pipe(duplex=False)
                self._lines[read] = _Lines(label, stream)
                ends.append(write)
            self.ranks.append(RankOutput(ends))
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Read; call this when all ranks have been started."""
        for rank in self.ranks:
            rank.close()
        self._thread.start()

    def end(self) -> None:
        """Write what the ranks have written until now, and stop: a process that a rank left behind may go on."""
        self._has_ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _read(self) -> None:
        until: float | None = None
        while self._lines and (until is None or time.monotonic() < until):
            if until is None and self._has_ended.is_set():
                until = time.monotonic() + LAST_S
            ready = connection.wait(list(self._lines), 0 if until else LOOK_S)
            if until and not ready:
                break
            for end in ready:
                assert isinstance(end, Connection)
                if text := os.read(end.fileno(), MOST):
                    self._lines[end].add(text)
                else:
                    self._lines.pop(end).end()
                    end.close()
        for end, lines in self._lines.items():
            lines.end()
            end.close()
