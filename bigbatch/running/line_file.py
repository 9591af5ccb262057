"""LineFile: append whole lines to a file by single writes, which another process may append to as well.

A line that a crash or a full disk left incomplete is ended first. While the file cannot be written, lines wait in
memory, the oldest ones being dropped where they exceed the limit, and later calls try again.
"""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from contextlib import suppress

from bigbatch.running.runfiles import torn_end
from bigbatch.running.warning import warn_once

MAX_WAITING_BYTES = 8 << 20
RETRY_S = 0.2  # between two tries while the file cannot be written
FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class LineFile:
    """One file at `path`, opened at the first line. The caller serializes the calls of several threads."""

    def __init__(self, path: str, *, make_folder: bool = False, max_waiting_bytes: int = MAX_WAITING_BYTES) -> None:
        """`make_folder`: create the file's folder if it is absent, but none above it."""
        self.path, self._make_folder, self._max_waiting = path, make_folder, max_waiting_bytes
        self.waiting: deque[bytes] = deque()
        self._waiting_bytes, self._retry_at = 0, 0.0
        self._file = -1
        self._identity = (0, 0)
        self._end = -1  # the size after the last own write

    def append(self, line: bytes) -> bool:
        """Write a line that ends with a newline; return whether the line and all that waited are in the file."""
        if not self.waiting:
            try:
                if self._file >= 0 and os.lseek(self._file, 0, os.SEEK_END) == self._end:  # the file ends with a line
                    written = os.write(self._file, line)
                    if written == len(line):
                        self._end += written
                        return True
                    self._after_short_write([line], written)
                    return False
            except OSError as error:
                self._fail(error)
                self._wait(line)
                return False
        self._wait(line)
        return self.flush()

    def flush(self, *, now: bool = False) -> bool:
        """Write the lines that wait, unless a try has just failed; return whether none waits. `now`: try anyway."""
        if not self.waiting:
            return True
        if not now and time.monotonic() < self._retry_at:
            return False
        lines: deque[bytes] = deque()
        try:
            torn = self._open_at_line()
            # first, so that an exception of a signal handler writes no line twice, and in one step: a handler may log
            lines, self.waiting = self.waiting, lines
            self._waiting_bytes = 0
            written = os.write(self._file, torn + b"".join(lines)) - len(torn)
        except OSError as error:
            self._fail(error)
            self._wait_again(list(lines))
            return False
        if written < sum(map(len, lines)):
            self._after_short_write(list(lines), written)
        else:
            self._end = os.lseek(self._file, 0, os.SEEK_CUR)
            self._retry_at = 0.0
        return not self.waiting

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._file >= 0 and self._is_own():
            with suppress(OSError):
                os.close(self._file)
        self._file, self._end = -1, -1

    def forget(self) -> None:
        """Drop what waits, and let go of the file: it is the parent process's."""
        self.waiting.clear()
        self._waiting_bytes = 0
        self._retry_at = 0.0
        self.close()

    def enqueue(self, line: bytes) -> None:
        """Let a line wait for the next call: this one interrupts a write."""
        self._wait(line)

    def _open_at_line(self) -> bytes:
        """Open the file if it is not open; return what ends a torn line: a newline, or nothing."""
        if self._file >= 0 and not self._is_own():
            self._file = -1  # the program closed the file, and its number may be another file's: leave that alone
        if self._file < 0:
            if self._make_folder:
                with suppress(FileExistsError):
                    os.mkdir(os.path.dirname(self.path))
            self._file = os.open(self.path, FLAGS, 0o644)
            status = os.fstat(self._file)
            self._identity = (status.st_dev, status.st_ino)
        return torn_end(self._file)

    def _is_own(self) -> bool:
        try:
            status = os.fstat(self._file)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity and status.st_nlink > 0

    def _after_short_write(self, lines: list[bytes], written: int) -> None:
        """Let the lines wait that `written` bytes do not hold whole; the disk is full."""
        left = 0
        while left < len(lines) and written >= len(lines[left]) - 1:  # without its newline a line is whole too,
            written -= len(lines[left])  # and the next write ends it
            left += 1
        self._fail(None)
        self._wait_again(lines[left:])

    def _wait(self, line: bytes) -> None:
        self.waiting.append(line)
        self._waiting_bytes += len(line)
        while self._waiting_bytes > self._max_waiting and self.waiting:
            self._waiting_bytes -= len(self.waiting.popleft())
            warn_once("lost points", f"{self.path} cannot be written for long: the oldest points are lost")

    def _wait_again(self, lines: list[bytes]) -> None:
        """Put lines before those that wait."""
        self.waiting.extendleft(reversed(lines))
        self._waiting_bytes = sum(map(len, self.waiting))

    def _fail(self, error: OSError | None) -> None:
        self._end = -1
        self._retry_at = time.monotonic() + RETRY_S
        if error is not None and error.errno not in NO_SPACE:
            self.close()
        reason = error.strerror if error is not None else "the disk is full"
        warn_once(
            "unwritable", f"{self.path} cannot be written ({reason}): points wait in memory, and training goes on"
        )
