"""Whether a job gives signs of life: told by a stamp that changes as this process watches it.

How old a stamp looks says little by itself: on some shared file systems it is of the job's own host, whose clock may be
minutes off. So a stamp that looks fresh is believed at once, and one that does not only after it has been watched.
"""

import time
from enum import Enum
from typing import NamedTuple

from contract.folder.run_folder import RunFolder

FRESH_S = 45.0  # a job that has given a sign of life so lately lives
WATCH_S = 15.0  # a job that lives gives one in this time (trainers/ranks/heartbeat.py: every 10 s)
KEEP_S = 600.0


class Pulse(Enum):
    BEATS = "it has given a sign of life lately"
    SILENT = "it gives none"
    UNSURE = "it has not been watched for long enough"


class Sight(NamedTuple):
    """A stamp, since when this process has seen it, and whether it saw another one before."""

    stamp: float
    since: float  # time.monotonic
    changed: bool


_seen: dict[tuple[RunFolder, int], Sight] = {}


def feel(folder: RunFolder, attempt: int) -> Pulse:
    """Look for the last sign of life in an attempt."""
    beat = folder.last_beat(attempt)
    if beat is None:
        return Pulse.SILENT
    present, before = time.monotonic(), _seen.get((folder, attempt))
    if before is None or before.stamp != beat.stamp:
        _forget(present)
        before = _seen[folder, attempt] = Sight(beat.stamp, present, changed=before is not None)
    watched_s = present - before.since
    if 0 <= beat.age_s < FRESH_S or (before.changed and watched_s < FRESH_S):
        return Pulse.BEATS
    return Pulse.SILENT if watched_s >= WATCH_S else Pulse.UNSURE


def _forget(present: float) -> None:
    for key in [key for key, sight in _seen.items() if present - sight.since > KEEP_S]:
        del _seen[key]
