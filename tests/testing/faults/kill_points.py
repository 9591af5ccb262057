"""The points at which a launcher can be killed, found by watching one at work: each line of ours, by how it came there.

A point is the chain of our own lines on the stack, as "submission.py:91 > submissions.py:72". Nothing in the program
knows of them, so they cost nothing when nobody watches, and a line that is added later is a point at once.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

HOUSE = Path(__file__).parents[3]
ROOMS = tuple(f"{HOUSE / room}{os.sep}" for room in ("scheduler", "store", "contract"))
# a new connection closes the database's files to other users; which files exist depends on the other connections
NO_POINTS = f"{HOUSE / 'contract' / 'private_files.py'}"
STARTS = (
    "submission.py",
    "folders.py",
    "plan.py",
    "reuse.py",
)  # a chain starts in one of these files: other ticks are no submissions


@cache
def _name_of(path: str) -> str | None:
    """Return the name of a file of ours, None of any other one."""
    return Path(path).name if path.startswith(ROOMS) else None


def point_of(frame: FrameType) -> str | None:
    """The point that a frame stands at; None when no launcher is at work."""
    chain: list[str] = []
    at: FrameType | None = frame
    while at:
        if name := _name_of(at.f_code.co_filename):
            chain.append(f"{name}:{at.f_lineno}")
        at = at.f_back
    chain.reverse()
    # whoever calls the tick does not matter; the folders are written by threads of their own, whose chains begin there
    begin = next((number for number, line in enumerate(chain) if line.startswith(STARTS)), None)
    return None if begin is None else " > ".join(chain[begin:])


@contextmanager
def watched(see: Callable[[str], None], line: str | None = None) -> Iterator[None]:
    """Call `see` with every point, in this thread and all that begin meanwhile, before its line is carried out.

    With `line`, such as "plan.py:91", only points of that line count: to trace no other file is many times as fast.
    """
    file = line and line.partition(":")[0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = _name_of(frame.f_code.co_filename)
        if name is None or frame.f_code.co_filename == NO_POINTS or (file and name != file):
            return None
        is_watched = event in ("line", "return") and (line is None or line == f"{name}:{frame.f_lineno}")
        if is_watched and (point := point_of(frame)):
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


def die_at(point: str, work: Callable[[], object]) -> None:
    """Carry out `work` in a process of its own, which is killed when it comes to the point."""
    child = os.fork()
    if child == 0:
        try:
            with watched(kill_at(point), point.rpartition(" > ")[2]):
                work()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the work did not come to {point}"
    assert os.WTERMSIG(status) == signal.SIGKILL


def last_of_lines(points: Iterable[str], files: tuple[str, ...]) -> list[str]:
    """Return the last point of each line of these files: a line that is passed several times is killed at once."""
    of_lines = {point.rpartition(" > ")[2]: point for point in points}
    return [point for line, point in of_lines.items() if line.startswith(files)]
