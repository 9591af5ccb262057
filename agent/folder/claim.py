"""Claim an attempt for a job before any work; trainers/attempt_claim.py has the same rules for engine runs."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

from agent.folder.run_folder import RunFolder


class ClaimRefused(Exception):
    """This job must not touch the run; the message names the job that owns the attempt."""


def claim_attempt(folder: RunFolder, attempt: int | None, *, job: str) -> int:
    """Claim `attempt`, or the next free attempt if it is None, for `job`, and return its number.

    Every agent of a job gets the same number. Raise ClaimRefused if another job owns the attempt or a later one.
    """
    if attempt is None:
        attempt = _claim_next(folder, job)
    holder = folder.claim(attempt, job)
    if _is_another_start(job, holder):  # only the scheduler may begin the next attempt after a requeue
        folder.write(f"{attempt}.again", job)
    if holder != job:
        raise ClaimRefused(f"attempt {attempt} of {folder.path} belongs to job {holder}; this is job {job}")
    latest = folder.latest_attempt()
    if latest > attempt:
        holder = folder.read_claim(latest) or "another"
        raise ClaimRefused(f"attempt {attempt} of {folder.path} is over: job {holder} has begun {latest}")
    return attempt


def _is_another_start(job: str, holder: str) -> bool:
    """Return whether two names are two starts of one Slurm job, as contract/folder/job_identity.py has it."""
    return job != holder and _without_start(job) == _without_start(holder)


def _without_start(job: str) -> str:
    return re.sub(r" \((?:restart|start) [^()]*\)", "", job)


def _claim_next(folder: RunFolder, job: str) -> int:
    latest = folder.latest_attempt()
    if latest and folder.read_claim(latest) == job:
        return latest
    attempt = latest + 1
    while folder.claim(attempt, job) != job:
        attempt += 1
    return attempt


def job_name(environment: Mapping[str, str] = os.environ, *, is_slurm: bool) -> str:
    """Return the name by which this job claims an attempt.

    Each start of a Slurm job and a second job step get names of their own, because the claim belongs to the first
    start. BIGBATCH_START is made by each start of the batch script: a controller that loses its state starts a job anew
    without counting a restart.
    """
    if not is_slurm:
        return f"{environment.get('BIGBATCH_JOB', 'by-hand')}@{socket.gethostname().split('.')[0]}:{os.getpid()}"
    restarts, step = environment.get("SLURM_RESTART_COUNT", "0"), environment.get("SLURM_STEP_ID", "0")
    member, start = environment.get("BIGBATCH_MEMBER"), environment.get("BIGBATCH_START")
    array, task = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")
    return (
        (f"{array}_{task}" if array and task else environment["SLURM_JOB_ID"])
        + (f" (member {member})" if member else "")
        + (f" (restart {restarts})" if restarts != "0" else "")
        + (f" (start {start})" if start else "")
        + (f" (step {step})" if step != "0" and not member else "")
    )
