"""Liveness of jobs by their heartbeats: a job is alive if its time stamp changes while this worker watches it.

The age of a stamp proves little by itself: on some shared file systems the stamp has the clock of the job's own host,
which may be minutes off. So a stamp that looks fresh counts at once, and an old one only after it was watched.
"""

import time
from enum import Enum

from contract.folder.run_folder import RunFolder
from scheduler.context import HeartbeatSighting, Memory

FRESH_S = 45.0  # a job with a heartbeat as young as this is alive
WATCH_S = 15.0  # a live job writes a heartbeat in this time (the trainer's heartbeat: every 10 s)
FORGET_S = 600.0


class Liveness(Enum):
    ALIVE = "alive"  # a heartbeat came lately
    SILENT = "silent"  # no heartbeat comes
    UNSURE = "unsure"  # the job was not watched for long enough


def read_liveness(memory: Memory, folder: RunFolder, attempt: int) -> Liveness:
    """Read the newest heartbeat of an attempt and compare it with what this worker saw before."""
    beat = folder.read_heartbeat(attempt)
    if beat is None:
        return Liveness.SILENT
    present, before = time.monotonic(), memory.heartbeats.get((folder, attempt))
    if before is None or before.stamp != beat.stamp:
        _forget_old(memory, present)
        before = HeartbeatSighting(beat.stamp, present, has_changed=before is not None)
        memory.heartbeats[folder, attempt] = before
    watched_s = present - before.since
    if 0 <= beat.age_s < FRESH_S or (before.has_changed and watched_s < FRESH_S):
        return Liveness.ALIVE
    return Liveness.SILENT if watched_s >= WATCH_S else Liveness.UNSURE


def _forget_old(memory: Memory, present: float) -> None:
    for key in [key for key, seen in memory.heartbeats.items() if present - seen.since > FORGET_S]:
        del memory.heartbeats[key]
