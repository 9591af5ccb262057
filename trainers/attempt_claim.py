"""Which attempt a job carries out, settled before any work: one job per attempt, and never an outdated one."""

from contract.folder.run_folder import RunFolder


class Refused(Exception):
    """This job must not touch the run; the message says who has it."""


def settle(folder: RunFolder, attempt: int | None, *, job: str) -> int:
    """Claim `attempt`, or the next free one, for `job` and return it; every rank of a job gets the same answer."""
    if attempt is None:
        attempt = _free(folder, job)
    holder = folder.claim(attempt, job)
    if job.startswith(f"{holder} (restart "):  # the scheduler will begin the next attempt: that is for one hand alone
        folder.note_second_start(attempt, job)
    if holder != job:
        raise Refused(f"attempt {attempt} of {folder.path} belongs to job {holder}; this is job {job}")
    latest = folder.latest_attempt()
    if latest > attempt:
        message = f"attempt {attempt} of {folder.path} is over: job {folder.claimed_by(latest)} has begun {latest}"
        raise Refused(message)
    return attempt


def _free(folder: RunFolder, job: str) -> int:
    """The attempt after the latest, unless another rank of this job took that one a moment ago."""
    latest = folder.latest_attempt()
    if latest and folder.claimed_by(latest) == job:
        return latest
    attempt = latest + 1
    while folder.claim(attempt, job) != job:
        attempt += 1
    return attempt
