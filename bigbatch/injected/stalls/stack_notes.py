"""StackNotes: the last stack of a rank in attempts/N.stacks-R.txt, so that also a stopped or killed rank leaves one.

A signal that is ignored by default, SIGURG, lets faulthandler write the stacks of all threads of a rank that hangs to a
file of their own, attempts/N.threads-R.txt; the agent moves them into the file of the stack.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress

Frame = tuple[str, int, str]
SIGNAL = signal.SIGURG
EVERY_S = 5.0
MAX_CHARACTERS = 60_000
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "/bigbatch/injected/", "<frozen ")


class StackNotes:
    """Writes the training thread's stack about every EVERY_S seconds, if it has changed."""

    def __init__(self, path: str, threads_path: str, rank: int) -> None:
        self._file, self._threads, self._rank = _open(path), _open(threads_path), rank
        self._text, self._due = "", 0.0
        with suppress(Exception):
            if signal.getsignal(SIGNAL) in (signal.SIG_DFL, None):  # the program has no handler of its own
                faulthandler.register(SIGNAL, file=self._threads, all_threads=True, chain=False)

    def write(self, frames: Sequence[Frame]) -> None:
        """Write the stack, the innermost frame first, if it is due; raise OSError."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY_S
        text = "".join(traceback.format_list([(*frame, None) for frame in reversed(frames)]))[-MAX_CHARACTERS:]
        if text == self._text:
            return
        self._text = text
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        head = f"rank {self._rank}, process {os.getpid()}, {at} UTC: stack of the training thread\n"
        os.ftruncate(self._file, 0)
        os.write(self._file, (head + text).encode("utf-8", "replace"))


def read_frames(thread: int | None) -> list[Frame]:
    """Return file, line and function of a thread's frames at one moment, the innermost first."""
    frame, frames = sys._current_frames().get(thread or 0), []
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return frames


def own_line(frames: Sequence[Frame]) -> str:
    """Return the innermost frame outside of libraries, such as `train.py:31 in main`; empty without one."""
    own = (frame for frame in frames if not any(mark in frame[0] for mark in LIBRARIES))
    return next((f"{os.path.basename(name)}:{line} in {function}" for name, line, function in own), "")


def _open(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o644)
