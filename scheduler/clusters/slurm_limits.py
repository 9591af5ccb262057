"""How much a Slurm takes: MaxArraySize, MaxJobCount, MinJobAge of its configuration, MaxSubmitJobs of its user."""

import re
from getpass import getuser
from typing import NamedTuple

from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.slurm_commands import Commands

DEFAULT_TASKS, DEFAULT_AGE_S = "1001", "300"  # Slurm's own


class Configured(NamedTuple):
    """What a cluster says of itself; numbers that it does not say are Slurm's own defaults."""

    version: str
    tasks: int  # in an array; the highest index is one less
    jobs: int | None  # of one user, waiting ones included; None: no limit was found
    min_job_age_s: int  # for how long squeue knows a job that has ended


def read(commands: Commands) -> Configured:
    """Ask scontrol, and sacctmgr where it answers; raise DoubtError when scontrol does not."""
    told = configuration(commands)
    return Configured(
        version=told.get("SLURM_VERSION", ""),
        tasks=max(1, _number(told.get("MaxArraySize", DEFAULT_TASKS))),  # 0: no arrays at all
        jobs=_most(_number(told.get("MaxJobCount", "")), _submit_limit(commands)),
        min_job_age_s=_number(told.get("MinJobAge", DEFAULT_AGE_S)),
    )


def configuration(commands: Commands) -> dict[str, str]:
    """Slurm's configuration, name by name; raise DoubtError when scontrol does not answer."""
    return dict(_pairs(commands.ask("scontrol", "show", "config")))


def _submit_limit(commands: Commands) -> int:
    """MaxSubmitJobs of this user's associations, the most generous one; 0 where none is set or nobody says."""
    try:
        said = commands.ask("sacctmgr", "-n", "-P", "show", "user", "withassoc", "format=User,MaxSubmitJobs")
    except DoubtError:
        return 0
    limits = [line.split("|")[1] for line in said.splitlines() if line.startswith(f"{getuser()}|")]
    return 0 if "" in limits else max(map(_number, limits), default=0)


def _most(*limits: int) -> int | None:
    return min((limit for limit in limits if limit), default=None)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name.strip(), value.strip()) for name, _, value in (line.partition("=") for line in text.splitlines())]


def _number(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0
