"""The heartbeat of rank 0 while it trains. The process ends when a later attempt has begun.

A cluster may lose track of a running job: a host is unreachable, or the accounting is late. The heartbeat tells the
scheduler that the attempt is alive. If the scheduler has begun a later attempt, this one must leave the run alone.
"""

import os
import sys
import threading
from contextlib import suppress

from contract.folder.run_folder import RunFolder

EVERY_S = 10.0
SUPERSEDED = 3  # exit status: a later attempt has begun


def start_heartbeat(folder: RunFolder, attempt: int, *, every_s: float = EVERY_S) -> None:
    """Write a heartbeat now and every `every_s` seconds, from a thread, until this process ends."""
    threading.Thread(target=_write_heartbeats, args=(folder, attempt, every_s), name="heartbeat", daemon=True).start()


def _write_heartbeats(folder: RunFolder, attempt: int, every_s: float) -> None:
    pause = threading.Event()
    while True:
        with suppress(OSError):  # a full disk or an unreachable file system may recover before the next heartbeat
            folder.write_heartbeat(attempt)
            latest = folder.latest_attempt()
            if latest > attempt:
                print(f"attempt {attempt} leaves: attempt {latest} has begun", file=sys.stderr, flush=True)
                os._exit(SUPERSEDED)
        pause.wait(every_s)
