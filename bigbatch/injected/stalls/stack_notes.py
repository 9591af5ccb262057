"""StackNotes: the last stack of a rank in attempts/N.stacks-R.txt, so that also a stopped or killed rank leaves one.

A signal that is ignored by default, SIGURG, lets faulthandler append the stacks of all threads of a rank that hangs.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
import traceback
from contextlib import suppress
from types import FrameType

SIGNAL = signal.SIGURG
EVERY_S = 5.0
MAX_CHARACTERS = 60_000
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "/bigbatch/injected/", "<frozen ")


class StackNotes:
    """Writes the training thread's stack about every EVERY_S seconds, if it has changed."""

    def __init__(self, path: str, rank: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file, self._rank = os.open(path, flags, 0o644), rank
        self._text, self._due = "", 0.0
        with suppress(Exception):  # the program has a handler of its own
            if signal.getsignal(SIGNAL) in (signal.SIG_DFL, None):
                faulthandler.register(SIGNAL, file=self._file, all_threads=True, chain=False)

    def write(self, frame: FrameType, *, now: bool = False) -> None:
        """Write the stack if it is due; raise OSError."""
        if time.monotonic() < self._due and not now:
            return
        self._due = time.monotonic() + EVERY_S
        text = "".join(traceback.format_stack(frame))[-MAX_CHARACTERS:]
        if text == self._text:  # what faulthandler has appended stays
            return
        self._text = text
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        head = f"rank {self._rank}, process {os.getpid()}, {at} UTC: stack of the training thread\n"
        os.ftruncate(self._file, 0)
        os.write(self._file, (head + text).encode("utf-8", "replace"))


def own_line(frame: FrameType | None) -> str:
    """Return file, line and function of the innermost frame outside of libraries, such as `train.py:31 in main`."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not any(mark in name for mark in LIBRARIES):
            return f"{os.path.basename(name)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
