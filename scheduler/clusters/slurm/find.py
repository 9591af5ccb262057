"""JobFinder: jobs found by their names, for submissions with an unknown outcome.

One call of squeue and one of sacct serve many names. The finder stores squeue's answer until sacct may be called:
workers that get one call at a time would otherwise call squeue again and again, and never sacct.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence

from scheduler.clusters.cluster import BackingOffError, NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import ALL_PARTITIONS, Commands

ACCOUNTING_RETRY_S = 60.0  # between calls of sacct while squeue fails: the calls are needed when squeue answers again
ANSWER_VALID_S = 120.0  # a search begins after sbatch's timeout, so a job that is not queued by then never will be


class JobFinder:
    """Searches for jobs by name, and the names that squeue or sacct lately did not list."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._not_queued: dict[str, float] = {}  # when squeue did not list the name
        self._not_accounted: dict[str, float] = {}  # when sacct did not list the name
        self._accounting_retry_at = -math.inf

    def find(self, names: Sequence[str]) -> dict[str, str | None]:
        """Map each name to its id (an array's own id), or to None if no such job exists; omit unknown names.

        Raise NoAnswerError if all are unknown.
        """
        self._not_queued, self._not_accounted = _omit_expired(self._not_queued), _omit_expired(self._not_accounted)
        try:
            found: dict[str, str | None] = {**self._find_queued(names)}
        except NoAnswerError as error:
            if isinstance(error, RateLimitedError) and not isinstance(error, BackingOffError):
                raise
            if accounted := self._find_accounted_only(names):
                return {**accounted}  # without squeue no job is known not to exist
            raise
        if not (missing := [name for name in names if name not in found]):
            return found
        try:
            accounted = self._find_accounted([name for name in missing if name not in self._not_accounted])
        except RateLimitedError:
            if not found:
                raise
            return found
        for name in missing:
            self._not_queued.pop(name, None)
            self._not_accounted.pop(name, None)
        return found | {name: accounted.get(name) for name in missing}

    def _find_queued(self, names: Sequence[str]) -> dict[str, str]:
        if not (unasked := [name for name in names if name not in self._not_queued]):
            return {}
        options = ("--me", *ALL_PARTITIONS, "-h", "-t", "all", f"--name={','.join(unasked)}", "-o", "%F|%j")
        found = _parse_ids(self._commands.ask("squeue", *options, priority=Priority.FIND), unasked)
        self._not_queued |= _absent(found, unasked)
        return found

    def _find_accounted_only(self, names: Sequence[str]) -> dict[str, str]:
        if time.monotonic() < self._accounting_retry_at:
            return {}
        found = self._find_accounted(names)
        self._accounting_retry_at = time.monotonic() + ACCOUNTING_RETRY_S
        return found

    def _find_accounted(self, names: Sequence[str]) -> dict[str, str]:
        if not names:
            return {}
        options = ("-X", "-n", "-P", "-S", "now-7days", f"--name={','.join(names)}", "-o", "JobID,JobName")
        try:
            answer = self._commands.ask("sacct", *options, priority=Priority.FIND)
        except RateLimitedError:
            raise
        except NoAnswerError:  # without accounting, squeue's answer alone decides
            return {}
        found = _parse_ids(answer, names)
        self._not_accounted |= _absent(found, names)
        return found


def _absent(found: Mapping[str, str], names: Sequence[str]) -> dict[str, float]:
    present = time.monotonic()
    return {name: present for name in names if name not in found}


def _omit_expired(absent_at: Mapping[str, float]) -> dict[str, float]:
    present = time.monotonic()
    return {name: at for name, at in absent_at.items() if present - at < ANSWER_VALID_S}


def _parse_ids(answer: str, names: Sequence[str]) -> dict[str, str]:
    """Return the first id of each name in lines such as "77_3|bigbatch-cafe-1"; raise NoAnswerError on another line."""
    found: dict[str, str] = {}
    for line in answer.splitlines():
        match = re.fullmatch(r"(\d+)(?:_\S+)?\|(.*)", line.strip())
        if not match or match[2] not in names:
            raise NoAnswerError(f"the answer is no list of jobs: {answer!r:.200}")
        found.setdefault(match[2], match[1])
    return found
