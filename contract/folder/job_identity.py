"""How a job on one machine is known (by its name, its host and its first process), and how it pauses."""

import os
import socket

MARK = "BIGBATCH_JOB"  # in the environment of every process of a job: its name
MEMBER = "BIGBATCH_MEMBER"  # in the environment of a run that shares its job: its place in there
BY_HAND = "by-hand"
PAUSED = 4  # the exit status of a rank that saved and left when it was asked to
WARNING_S = 90  # between SIGUSR2, Slurm's warning, and the time limit


def host() -> str:
    """This machine's name; what follows the first dot changes with the network that a laptop is in."""
    return socket.gethostname().split(".")[0]


def local_job_id(name: str, pid: int) -> str:
    """The id of the job of that name whose first process on this machine is `pid`."""
    return f"{name}@{host()}:{pid}"


def own_job_id() -> str:
    """The id of the job whose first process this one is."""
    return local_job_id(os.environ.get(MARK, BY_HAND), os.getpid())


def warning_s(minutes: int) -> int:
    """How long before a limit of so many minutes Slurm warns: a short job must not be warned as it starts."""
    return min(WARNING_S, minutes * 60 // 4)
