"""The heartbeat of the agent of rank 0. The attempt ends when a later attempt has begun."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Callable

from agent.folder.run_folder import RunFolder

EVERY_S = 10.0


def start_heartbeat(
    folder: RunFolder, attempt: int, *, on_superseded: Callable[[int], None], every_s: float = EVERY_S
) -> None:
    """Write a heartbeat now and every `every_s` seconds, from a thread, until this process ends.

    `on_superseded` is called with the number of a later attempt that has begun.
    """
    arguments = (folder, attempt, on_superseded, every_s)
    threading.Thread(target=_write_heartbeats, args=arguments, name="heartbeat", daemon=True).start()


def _write_heartbeats(folder: RunFolder, attempt: int, on_superseded: Callable[[int], None], every_s: float) -> None:
    pause = threading.Event()
    while True:
        with suppress(OSError):  # a full disk or an unreachable file system may recover before the next heartbeat
            folder.touch(f"{attempt}.beat")
            latest = folder.latest_attempt()
            if latest > attempt:
                on_superseded(latest)
                return
        pause.wait(every_s)
