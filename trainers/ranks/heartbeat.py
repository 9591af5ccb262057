"""The heartbeat of rank 0 while it trains. The process ends when a later attempt has begun."""

import os
import sys

from contract.folder.run_folder import RunFolder
from runfiles import heartbeat
from runfiles.exit_status import REFUSED
from runfiles.job_folder import JobFolder

SUPERSEDED = REFUSED  # exit status: a later attempt has begun


def start_heartbeat(folder: RunFolder, attempt: int, *, every_s: float = heartbeat.EVERY_S) -> None:
    """Write a heartbeat now and every `every_s` seconds, from a thread, until this process ends."""

    def leave(later: int) -> None:
        print(heartbeat.leave_text(attempt, later), file=sys.stderr, flush=True)
        os._exit(SUPERSEDED)

    heartbeat.start_heartbeat(JobFolder(folder.path), attempt, on_superseded=leave, every_s=every_s)
