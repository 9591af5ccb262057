"""What can be said of a job that ended without a last word of its own: by its ranks, its log, its cluster."""

import shutil

from contract.diagnosis.diagnose import Ended, failure_of
from contract.folder.run_folder import GIVEN_UP, RunFolder
from scheduler.clusters.cluster import Gone
from store.tables import Run

LOG_BYTES = 32_000  # read while the database is held: a hundred runs may end at once
FULL_BYTES = 1 << 16  # a disk with less has no room for a rank's last words


def last_words(folder: RunFolder, run: Run, gone: Gone) -> str:
    """The best that is known, in a sentence."""
    falls = folder.falls(run.attempt)
    if falls and not falls[0].echo:
        return falls[0].reason
    # a rank that was killed leaves echoes alone: the log may know how it ended, and the cluster why
    failure = failure_of(folder, Ended(run.attempt, gone.cause, None, run.hosts, run.cluster), log_bytes=LOG_BYTES)
    known = falls or (failure and failure.evidence)
    told = failure.reason if failure and known else falls[0].reason if falls else None
    holder = folder.claimed_by(run.attempt)
    if holder == GIVEN_UP and run.member is not None:
        return f"{gone.reason}, and its turn in there had not come"
    if holder and holder != GIVEN_UP:
        return f"{gone.reason}; {told}" if told else f"{gone.reason}, without a last word{_of_the_disk(folder)}"
    return f"{gone.reason}; it never began to train{f': {told}' if told else ', see its log'}"


def bytes_short(folder: RunFolder) -> int | None:
    """How little room is on the folder's disk, where that is too little for a last word."""
    try:
        free = shutil.disk_usage(folder.path).free
    except OSError:
        return None
    return free if free < FULL_BYTES else None


def _of_the_disk(folder: RunFolder) -> str:
    """What may have kept the run from speaking."""
    free = bytes_short(folder)
    return "" if free is None else f"; the disk of its folder is full ({free} bytes are free)"
