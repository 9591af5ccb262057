"""Lines at the end of a file of events: a reader sees whole lines, and a line that a crash left incomplete is ended."""

from __future__ import annotations

import os

FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY


def append_lines(descriptor: int, lines: bytes) -> None:
    """Append whole lines with one unbuffered write, so that a killed process loses none; raise OSError.

    A write of which a full disk took a part is an error too; the next call ends the line that it left incomplete.
    """
    data = torn_end(descriptor) + lines
    written = os.write(descriptor, data)
    if written != len(data):
        raise OSError(f"only {written} of {len(data)} bytes were written")


def append_to(path: str | os.PathLike[str], lines: bytes) -> None:
    """Append whole lines to a file, which is made if it is absent; raise OSError."""
    descriptor = os.open(path, FLAGS, 0o644)
    try:
        append_lines(descriptor, lines)
    finally:
        os.close(descriptor)


def open_for_lines(path: str | os.PathLike[str]) -> int:
    """Open a file for `append_lines`, and end a line that a crash left incomplete; raise OSError."""
    descriptor = os.open(path, FLAGS, 0o644)
    end_torn_line(descriptor)
    return descriptor


def end_torn_line(descriptor: int) -> None:
    """End a line that a crash left incomplete, so that the next line is whole; `descriptor` is the open file's."""
    if torn := torn_end(descriptor):
        os.write(descriptor, torn)


def torn_end(descriptor: int) -> bytes:
    """Return what ends the last line of an open file: a newline after an incomplete line, else nothing."""
    size = os.fstat(descriptor).st_size
    return b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""
