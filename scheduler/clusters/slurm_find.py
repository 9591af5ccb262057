"""Jobs found by their names: of submissions that nobody knows the end of, many in one call of squeue and one of sacct.

What squeue said is kept until sacct may be called: were both called in one go or not at all, workers that each get one
call at a time would ask squeue again and again, and never come to an end.
"""

import re
import time
from collections.abc import Sequence

from scheduler.clusters.cluster import BusyError, DoubtError
from scheduler.clusters.gate import Urgency
from scheduler.clusters.slurm_commands import Commands

ACT = Urgency.ACT  # a part of submitting: looks at other jobs must not keep it waiting
SERVES_S = 120.0  # whoever submitted has given up before anybody looks: what is not queued will not be


class Finder:
    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._not_queued: dict[str, float] = {}  # since when squeue does not know a name

    def find(self, names: Sequence[str]) -> dict[str, str | None]:
        """The id by each name that Slurm has or had (of an array its own), None where it surely has not.

        Of what is missing here nobody can say yet; raise DoubtError where that is so of all.
        """
        found: dict[str, str | None] = {**self._queued(names)}
        if not (missing := [name for name in names if name not in found]):
            return found
        try:
            ended = self._ended(missing)
        except BusyError:
            if not found:
                raise
            return found
        for name in missing:
            self._not_queued.pop(name, None)
        return found | {name: ended.get(name) for name in missing}

    def _queued(self, names: Sequence[str]) -> dict[str, str]:
        present = time.monotonic()
        self._not_queued = {name: at for name, at in self._not_queued.items() if present - at < SERVES_S}
        if not (unasked := [name for name in names if name not in self._not_queued]):
            return {}
        asked = ("squeue", "--me", "-h", "-t", "all", f"--name={','.join(unasked)}", "-o", "%F|%j")
        found = _ids(self._commands.ask(*asked, urgency=ACT), unasked)
        self._not_queued |= {name: present for name in unasked if name not in found}
        return found

    def _ended(self, names: Sequence[str]) -> dict[str, str]:
        asked = ("sacct", "-X", "-n", "-P", "-S", "now-7days", f"--name={','.join(names)}", "-o", "JobID,JobName")
        try:
            told = self._commands.ask(*asked, urgency=ACT)
        except BusyError:
            raise
        except DoubtError:  # a cluster without accounting: squeue's answer is all there is
            return {}
        return _ids(told, names)


def _ids(told: str, names: Sequence[str]) -> dict[str, str]:
    """The first id for each name in lines such as "77_3|bigbatch-cafe-1"; raise DoubtError on any other line."""
    found: dict[str, str] = {}
    for line in told.splitlines():
        match = re.fullmatch(r"(\d+)(?:_\S+)?\|(.*)", line.strip())
        if not match or match[2] not in names:
            raise DoubtError(f"this is no list of jobs: {told!r:.200}")
        found.setdefault(match[2], match[1])
    return found
