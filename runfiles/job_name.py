"""The name of a job, by which it claims an attempt, and the environment variables that make it."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

NAME_VARIABLE = "BIGBATCH_JOB"  # of every process of a local job: the job's name
MEMBER_VARIABLE = "BIGBATCH_MEMBER"  # of a run in a shared job: the run's number in the job
START_VARIABLE = "BIGBATCH_START"  # of a Slurm job: a text that each start of its script makes
BY_HAND = "by-hand"  # name of a job that was started without the scheduler


def host() -> str:
    """Return this machine's name up to the first dot, because a laptop's domain changes with its network."""
    return socket.gethostname().split(".")[0]


def local_job(name: str, pid: int) -> str:
    """Return the name of the job that has this name and the first process `pid` on this machine."""
    return f"{name}@{host()}:{pid}"


def own_local_job(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the job whose first process is this process."""
    return local_job(environment.get(NAME_VARIABLE, BY_HAND), os.getpid())


def slurm_job(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the Slurm job of this process.

    Each start of a job and a second job step get names of their own, because the claim belongs to the first start: a
    controller that loses its state starts a job anew without counting a restart. Runs that share a job are job steps
    too; their member number identifies them.
    """
    restarts, step = environment.get("SLURM_RESTART_COUNT", "0"), environment.get("SLURM_STEP_ID", "0")
    member, start = environment.get(MEMBER_VARIABLE), environment.get(START_VARIABLE)
    array, task = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")
    return (
        (f"{array}_{task}" if array and task else environment["SLURM_JOB_ID"])
        + (f" (member {member})" if member else "")
        + (f" (restart {restarts})" if restarts != "0" else "")
        + (f" (start {start})" if start else "")
        + (f" (step {step})" if step != "0" and not member else "")
    )


def is_another_start(job: str, holder: str) -> bool:
    """Return whether `job` and `holder`, the names in two claims, are two starts of one Slurm job."""
    return job != holder and _without_start(job) == _without_start(holder)


def _without_start(job: str) -> str:
    return re.sub(r" \((?:restart|start) [^()]*\)", "", job)
