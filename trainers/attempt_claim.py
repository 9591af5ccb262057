"""Claim an attempt for a job before any work: each attempt belongs to one job, and no outdated attempt starts."""

from contract.folder.job_identity import is_another_start
from contract.folder.run_folder import RunFolder


class ClaimRefused(Exception):
    """This job must not touch the run; the message names the job that owns the attempt."""


def claim_attempt(folder: RunFolder, attempt: int | None, *, job: str) -> int:
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
        message = f"attempt {attempt} of {folder.path} is over: job {folder.read_claim(latest)} has begun {latest}"
        raise ClaimRefused(message)
    return attempt


def _claim_next(folder: RunFolder, job: str) -> int:
    """Return the number after the latest attempt, or the latest if another rank of this job has just claimed it."""
    latest = folder.latest_attempt()
    if latest and folder.read_claim(latest) == job:
        return latest
    attempt = latest + 1
    while folder.claim(attempt, job) != job:
        attempt += 1
    return attempt
