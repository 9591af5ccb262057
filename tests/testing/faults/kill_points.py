"""The points at which a launcher can be killed, found by watching one at work: each line of ours, by how it came there.

A point is the chain of our own lines on the stack, as "submission.py:91 > submissions.py:72". Nothing in the program
knows of them, so they cost nothing when nobody watches, and a line that is added later is a point at once.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

HOUSE = Path(__file__).parents[3]
ROOMS = tuple(f"{HOUSE / room}{os.sep}" for room in ("scheduler", "store", "contract"))
# a new connection closes the database's files to other users; which files exist depends on the other connections
NO_POINTS = f"{HOUSE / 'contract' / 'private_files.py'}"
STARTS = ("submission.py", "folders.py")  # a chain starts in one of these files: other ticks are no submissions


def point_of(frame: FrameType) -> str | None:
    """The point that a frame stands at; None when no launcher is at work."""
    chain: list[str] = []
    at: FrameType | None = frame
    while at:
        if at.f_code.co_filename.startswith(ROOMS):
            chain.append(f"{Path(at.f_code.co_filename).name}:{at.f_lineno}")
        at = at.f_back
    chain.reverse()
    # whoever calls the tick does not matter; the folders are written by threads of their own, whose chains begin there
    begin = next((number for number, line in enumerate(chain) if line.startswith(STARTS)), None)
    return None if begin is None else " > ".join(chain[begin:])


@contextmanager
def watched(see: Callable[[str], None]) -> Iterator[None]:
    """Call `see` with every point, in this thread and all that begin meanwhile, before its line is carried out."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOMS) or frame.f_code.co_filename == NO_POINTS:
            return None
        if event in ("line", "return") and (point := point_of(frame)):
            see(point)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)


def kill_at(point: str) -> Callable[[str], None]:
    """End this process as a power cut would, when it comes to the point."""

    def see(present: str) -> None:
        if present == point:
            os.kill(os.getpid(), signal.SIGKILL)

    return see
