"""Jobs found by their names: of submissions that nobody knows the end of, all in one or two calls."""

import re
from collections.abc import Sequence

from scheduler.clusters.cluster import BusyError, DoubtError
from scheduler.clusters.gate import Urgency
from scheduler.clusters.slurm_commands import Commands

# a part of submitting: looks at other jobs must not keep it waiting
ACT = Urgency.ACT


def find(names: Sequence[str], commands: Commands) -> dict[str, str]:
    """The id by each name that Slurm has or had; an array's is its own. Raise DoubtError where that is not certain."""
    listed = ("squeue", "--me", "-h", "-t", "all", f"--name={','.join(names)}", "-o", "%F|%j")
    found = _ids(commands.ask(*listed, urgency=ACT), names)
    if not (missing := [name for name in names if name not in found]):
        return found
    ended = ("sacct", "-X", "-n", "-P", "-S", "now-7days", f"--name={','.join(missing)}", "-o", "JobID,JobName")
    try:
        told = commands.ask(*ended, urgency=ACT)
    except BusyError:
        raise
    except DoubtError:  # a cluster without accounting: squeue's answer is all there is
        return found
    return found | _ids(told, missing)


def _ids(told: str, names: Sequence[str]) -> dict[str, str]:
    """The first id for each name in lines such as "77_3|bigbatch-cafe-1"; raise DoubtError on any other line."""
    found: dict[str, str] = {}
    for line in told.splitlines():
        match = re.fullmatch(r"(\d+)(?:_\S+)?\|(.*)", line.strip())
        if not match or match[2] not in names:
            raise DoubtError(f"this is no list of jobs: {told!r:.200}")
        found.setdefault(match[2], match[1])
    return found
