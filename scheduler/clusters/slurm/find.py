"""Jobs found by their names: of submissions that nobody knows the end of, many in one call of squeue and one of sacct.

What squeue said is kept until sacct may be called: were both called in one go or not at all, workers that each get one
call at a time would ask squeue again and again, and never come to an end.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence

from scheduler.clusters.cluster import BusyError, DoubtError, SparedError
from scheduler.clusters.rate_limit import Urgency
from scheduler.clusters.slurm.commands import EVERYWHERE, Commands

AGAIN_S = 25.0  # while squeue does not answer, sacct is asked so often: its calls are needed when squeue is back
SERVES_S = 120.0  # whoever submitted has given up before anybody looks: what is not queued will not be


class Finder:
    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._not_queued: dict[str, float] = {}  # since when squeue does not know a name
        self._not_accounted: dict[str, float] = {}  # the same of sacct
        self._alone_after = -math.inf  # when sacct may be asked without squeue

    def find(self, names: Sequence[str]) -> dict[str, str | None]:
        """The id by each name that Slurm has or had (of an array its own), None where it surely has not.

        Of what is missing here nobody can say yet; raise DoubtError where that is so of all.
        """
        self._not_queued, self._not_accounted = _lately(self._not_queued), _lately(self._not_accounted)
        try:
            found: dict[str, str | None] = {**self._queued(names)}
        except DoubtError as doubt:
            if isinstance(doubt, BusyError) and not isinstance(doubt, SparedError):
                raise
            if ended := self._by_accounting_alone(names):
                return {**ended}  # of the others only squeue could say that they are not there
            raise
        if not (missing := [name for name in names if name not in found]):
            return found
        try:
            ended = self._ended([name for name in missing if name not in self._not_accounted])
        except BusyError:
            if not found:
                raise
            return found
        for name in missing:
            self._not_queued.pop(name, None)
            self._not_accounted.pop(name, None)
        return found | {name: ended.get(name) for name in missing}

    def _queued(self, names: Sequence[str]) -> dict[str, str]:
        if not (unasked := [name for name in names if name not in self._not_queued]):
            return {}
        asked = ("squeue", "--me", *EVERYWHERE, "-h", "-t", "all", f"--name={','.join(unasked)}", "-o", "%F|%j")
        found = _ids(self._commands.ask(*asked, urgency=Urgency.FIND), unasked)
        self._not_queued |= _without(found, unasked)
        return found

    def _by_accounting_alone(self, names: Sequence[str]) -> dict[str, str]:
        if time.monotonic() < self._alone_after:
            return {}
        ended = self._ended(names)
        self._alone_after = time.monotonic() + AGAIN_S
        return ended

    def _ended(self, names: Sequence[str]) -> dict[str, str]:
        if not names:
            return {}
        asked = ("sacct", "-X", "-n", "-P", "-S", "now-7days", f"--name={','.join(names)}", "-o", "JobID,JobName")
        try:
            told = self._commands.ask(*asked, urgency=Urgency.FIND)
        except BusyError:
            raise
        except DoubtError:  # a cluster without accounting: squeue's answer is all there is
            return {}
        found = _ids(told, names)
        self._not_accounted |= _without(found, names)
        return found


def _without(found: Mapping[str, str], names: Sequence[str]) -> dict[str, float]:
    present = time.monotonic()
    return {name: present for name in names if name not in found}


def _lately(since: Mapping[str, float]) -> dict[str, float]:
    present = time.monotonic()
    return {name: at for name, at in since.items() if present - at < SERVES_S}


def _ids(told: str, names: Sequence[str]) -> dict[str, str]:
    """The first id for each name in lines such as "77_3|bigbatch-cafe-1"; raise DoubtError on any other line."""
    found: dict[str, str] = {}
    for line in told.splitlines():
        match = re.fullmatch(r"(\d+)(?:_\S+)?\|(.*)", line.strip())
        if not match or match[2] not in names:
            raise DoubtError(f"this is no list of jobs: {told!r:.200}")
        found.setdefault(match[2], match[1])
    return found
