"""Signs of life from rank 0 while it trains, and its own end when a later attempt has begun.

A cluster may lose sight of a job that goes on (a host that it can't reach, an accounting that is late): the signs keep
the scheduler from trying again too early. Should it have, then the earlier attempt must leave the run alone.
"""

import os
import sys
import threading
from contextlib import suppress

from contract.folder.run_folder import RunFolder

EVERY_S = 10.0
OVERTAKEN = 3  # exit status: another job has this run


def start(folder: RunFolder, attempt: int, *, every_s: float = EVERY_S) -> None:
    """Give a sign of life now and from time to time, as long as this process lives."""
    threading.Thread(target=_beat, args=(folder, attempt, every_s), name="heartbeat", daemon=True).start()


def _beat(folder: RunFolder, attempt: int, every_s: float) -> None:
    pause = threading.Event()
    while True:
        with suppress(OSError):  # a full disk, a file system that is away: the next one may get through
            folder.beat(attempt)
            latest = folder.latest_attempt()
            if latest > attempt:
                print(f"attempt {attempt} leaves: attempt {latest} has begun", file=sys.stderr, flush=True)
                os._exit(OVERTAKEN)
        pause.wait(every_s)
