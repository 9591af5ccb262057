"""The heartbeat of an attempt, from a thread of rank 0's process.

A cluster may lose track of a running job: a host is unreachable, or the accounting is late. The heartbeat tells the
scheduler that the attempt is alive. If the scheduler has begun a later attempt, this one must leave the run alone.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Callable, Protocol

EVERY_S = 10.0


class Beaten(Protocol):
    """A run's folder as a heartbeat needs it."""

    def write_heartbeat(self, attempt: int) -> None:
        """Renew the attempt's heartbeat."""

    def latest_attempt(self) -> int:
        """Return the number of the highest claimed attempt; 0 without one."""


def start_heartbeat(
    folder: Beaten, attempt: int, *, on_superseded: Callable[[int], None], every_s: float = EVERY_S
) -> None:
    """Write a heartbeat now and every `every_s` seconds until this process ends.

    `on_superseded` is called once, with the number of a later attempt that has begun; it is the last beat.
    """
    arguments = (folder, attempt, on_superseded, every_s)
    threading.Thread(target=_write_heartbeats, args=arguments, name="heartbeat", daemon=True).start()


def leave_text(attempt: int, later: int) -> str:
    """Return the line that the process of an outdated attempt prints before it ends."""
    return f"attempt {attempt} leaves: attempt {later} has begun"


def _write_heartbeats(folder: Beaten, attempt: int, on_superseded: Callable[[int], None], every_s: float) -> None:
    pause = threading.Event()
    while True:
        with suppress(OSError):  # a full disk or an unreachable file system may recover before the next heartbeat
            folder.write_heartbeat(attempt)
            latest = folder.latest_attempt()
            if latest > attempt:
                on_superseded(latest)
                return
        pause.wait(every_s)
