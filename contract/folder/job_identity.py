"""The identity of a job (its name, host and first process) and the values by which a job pauses."""

import os
import re
import socket

JOB_NAME_VARIABLE = "BIGBATCH_JOB"  # environment variable of every process of a job: the job's name
JOB_MEMBER_VARIABLE = "BIGBATCH_MEMBER"  # environment variable of a run in a shared job: the run's number in the job
JOB_START_VARIABLE = "BIGBATCH_START"  # environment variable of a Slurm job: a text that each start of its script makes
MANUAL_JOB_NAME = "by-hand"  # name of a job that was started without the scheduler
CLAIM_REFUSED_EXIT_CODE = 3  # exit code of a job whose attempt belongs to another job
PAUSED_EXIT_CODE = 4  # exit code of a rank that saved a checkpoint and ended on request
STOPPED_EXIT_CODES = (143, 130)  # of an agent whose ranks ended after SIGTERM or SIGINT, as of a shell
LEFT_EXIT_CODES = (PAUSED_EXIT_CODE, *STOPPED_EXIT_CODES)  # of an attempt that was asked to end, and left in good order
MAX_WARNING_S = 90  # longest time between SIGUSR2, Slurm's warning, and the time limit


def host() -> str:
    """Return this machine's name up to the first dot, because a laptop's domain changes with its network."""
    return socket.gethostname().split(".")[0]


def is_another_start(job: str, holder: str) -> bool:
    """Return whether `job` and `holder`, the names in two claims, are two starts of one Slurm job.

    A controller that loses its state starts a job anew that it has started before, and counts no restart.
    """
    return job != holder and _without_start(job) == _without_start(holder)


def _without_start(job: str) -> str:
    return re.sub(r" \((?:restart|start) [^()]*\)", "", job)


def local_job_id(name: str, pid: int) -> str:
    """Return the id of the job with this name and with first process `pid` on this machine."""
    return f"{name}@{host()}:{pid}"


def is_manual_job(job_id: str) -> bool:
    """Return whether a person started the job on this or another machine, without the scheduler."""
    return job_id.startswith(f"{MANUAL_JOB_NAME}@")


def current_job_id() -> str:
    """Return the id of the job whose first process is this process."""
    return local_job_id(os.environ.get(JOB_NAME_VARIABLE, MANUAL_JOB_NAME), os.getpid())


def time_limit_warning_s(minutes: int) -> int:
    """Return how many seconds before a limit of `minutes` Slurm sends the warning: at most a quarter of the limit."""
    return min(MAX_WARNING_S, minutes * 60 // 4)
