"""The claim of an attempt: each attempt belongs to one job, and no outdated attempt starts."""

from __future__ import annotations

import errno
import json
import re
import time
from pathlib import Path
from typing import Callable, Protocol

from .job_name import is_another_start

VISIBLE_S, POLL_S = 10.0, 0.1  # longest time for which a shared file system may hide an existing claim
UNREADABLE = "a job whose claim cannot be read"
MAX_BYTES = 1 << 16
NAME = re.compile(r"[ -~]{1,300}")  # of a job
# of what is no regular file, is reached through a link or is too large: it becomes no claim later
_FOR_EVER = (errno.ELOOP, errno.EMLINK, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.ENXIO, errno.EFBIG)


class ClaimRefused(Exception):
    """This job must not touch the run; the message names the job that owns the attempt."""


class Claimed(Protocol):
    """A run's folder as the rules of claims need it."""

    @property
    def path(self) -> Path:
        """The folder."""

    def claim(self, attempt: int, job: str) -> str:
        """Claim `attempt` for `job` unless another job holds it; return the job that holds it."""

    def read_claim(self, attempt: int) -> str | None:
        """Return the job that holds `attempt`; None without a claim, UNREADABLE for a claim that cannot be read."""

    def latest_attempt(self) -> int:
        """Return the number of the highest claimed attempt; 0 without one."""

    def write_second_start(self, attempt: int, job: str) -> None:
        """Record that the cluster started the attempt's job again."""


def claim_attempt(folder: Claimed, attempt: int | None, *, job: str) -> int:
    """Claim `attempt`, or the next free attempt if it is None, for `job`, and return its number.

    Every rank of a job gets the same number. Raise ClaimRefused if another job owns the attempt or a later one.
    """
    if attempt is None:
        attempt = _claim_next(folder, job)
    holder = folder.claim(attempt, job)
    if is_another_start(job, holder):  # only the scheduler may begin the next attempt after a requeue
        folder.write_second_start(attempt, job)
    if holder != job:
        raise ClaimRefused(f"attempt {attempt} of {folder.path} belongs to job {holder}; this is job {job}")
    latest = folder.latest_attempt()
    if latest > attempt:
        holder = folder.read_claim(latest) or "another"
        raise ClaimRefused(f"attempt {attempt} of {folder.path} is over: job {holder} has begun {latest}")
    return attempt


def _claim_next(folder: Claimed, job: str) -> int:
    """Return the number after the latest attempt, or the latest if another rank of this job has just claimed it."""
    latest = folder.latest_attempt()
    if latest and folder.read_claim(latest) == job:
        return latest
    attempt = latest + 1
    while folder.claim(attempt, job) != job:
        attempt += 1
    return attempt


def text_of(job: str) -> str:
    """Return the text of a claim."""
    return json.dumps({"job": job})


def holder_in(text: bytes) -> str:
    """Return the job in the text of a claim; UNREADABLE without a valid one.

    A file system may show a name without its bytes: of a new file at first, and after a power failure.
    """
    try:
        holder = json.loads(text)["job"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return UNREADABLE
    return holder if isinstance(holder, str) and NAME.fullmatch(holder) else UNREADABLE


def is_for_ever(error: OSError) -> bool:
    """Return whether what cannot be read now is no claim, and becomes none later."""
    return error.errno in _FOR_EVER


def await_holder(read: Callable[[], str | None], is_lost: Callable[[], bool], visible_s: float) -> str:
    """Return the job that holds a claim which exists; UNREADABLE if it cannot be read for `visible_s`.

    `is_lost`: whether what is there becomes no claim later.
    """
    until = time.monotonic() + visible_s
    while (holder := read()) in (None, UNREADABLE) and time.monotonic() < until:
        if is_lost():
            break
        time.sleep(POLL_S)
    return holder or UNREADABLE
