"""SlurmLimits: how much a Slurm cluster accepts, by its configuration and the user's associations.

MaxArraySize, MaxJobCount and MinJobAge come from scontrol, MaxSubmitJobs from sacctmgr.
"""

import math
import re
import threading
import time
from typing import NamedTuple

from contract.user_home import user_name
from scheduler.clusters.cluster import Limits, NoAnswerError, RateLimitedError
from scheduler.clusters.slurm.commands import Commands

DEFAULT_TASKS = 1001  # Slurm's default of MaxArraySize
MAX_TASKS = 4_000_001  # the largest MaxArraySize that Slurm allows
REFRESH_S = 3600.0  # between readings
RETRY_S, UNKNOWN_RETRY_S = 300.0, 10.0  # after a failed reading; while no limits are known at all


class ConfiguredLimits(NamedTuple):
    """The limits in a cluster's configuration."""

    tasks: int  # in an array; the highest index is one less
    jobs: int | None  # that the controller holds, of all users
    retention_s: float | None  # for how long squeue lists an ended job; None: for ever, or not known
    whole_nodes: bool  # the cluster allocates whole nodes, unless a partition is configured otherwise


class SlurmLimits:
    """The limits as last read. Each source has its own schedule, so the failure of one does not delay the other."""

    def __init__(self, commands: Commands) -> None:
        self._commands, self._lock = commands, threading.Lock()  # several ticks may need the limits first
        self._configured: ConfiguredLimits | None = None
        self._submit_limit = 0  # of this user's jobs at once; 0: no limit is known
        # array sizes: the largest to submit, and the smallest that the cluster refused
        self._largest, self._refused = MAX_TASKS, MAX_TASKS
        self._refusal_expires = math.inf
        self._error = ""
        self._configuration_due = self._submit_limit_due = -math.inf

    @property
    def known(self) -> Limits | None:
        """Return the limits as far as they are known without a call."""
        if not (configured := self._configured):
            return None
        tasks = min(configured.tasks, self._largest)
        return Limits(tasks, smallest_limit(configured.jobs or 0, self._submit_limit), configured.retention_s)

    @property
    def largest_array(self) -> int:
        """Return the array size that the configuration allows, whatever was refused lately."""
        return self._configured.tasks if self._configured else 1

    @property
    def whole_nodes(self) -> bool:
        """Return whether the cluster is known to allocate whole nodes, unless a partition is configured otherwise."""
        return bool(self._configured and self._configured.whole_nodes)

    def read(self) -> Limits:
        """Read what is out of date and return the limits; raise NoAnswerError if the configuration is not known."""
        with self._lock:
            if time.monotonic() >= self._refusal_expires:
                self._largest, self._refused, self._refusal_expires = 2 * self._largest, MAX_TASKS, math.inf
            if time.monotonic() >= self._configuration_due:
                self._refresh_configuration()
            if time.monotonic() >= self._submit_limit_due and self._configured:
                self._refresh_submit_limit()
            if limits := self.known:
                return limits
            raise NoAnswerError(self._error)

    def record_refused(self, tasks: int) -> None:
        """Halve the array size after the cluster refused so many tasks, even if the configuration allows them."""
        self._refused, self._refusal_expires = tasks, time.monotonic() + RETRY_S
        self._largest = min(self._largest, max(1, tasks // 2))

    def record_accepted(self, tasks: int) -> None:
        """Let the next array be larger after one of the largest size was accepted, but smaller than the refused one."""
        if tasks >= self._largest:
            self._largest = min(2 * self._largest, (self._largest + self._refused) // 2)

    def _refresh_configuration(self) -> None:
        try:
            self._configured = parse_limits(read_configuration(self._commands))
            next_s = REFRESH_S
        except RateLimitedError:
            if not self._configured:
                raise
            return
        except NoAnswerError as error:
            self._error, next_s = str(error), RETRY_S if self._configured else UNKNOWN_RETRY_S
        self._configuration_due = time.monotonic() + next_s

    def _refresh_submit_limit(self) -> None:
        """Read MaxSubmitJobs; until the limit is known, sbatch refuses jobs beyond the limit."""
        try:
            self._submit_limit, next_s = read_submit_limit(self._commands), REFRESH_S
        except RateLimitedError:
            return
        except NoAnswerError:
            next_s = RETRY_S
        self._submit_limit_due = time.monotonic() + next_s


def read_configuration(commands: Commands) -> dict[str, str]:
    """Return Slurm's configuration as names and values; raise NoAnswerError if scontrol does not answer."""
    lines = (line.partition("=") for line in commands.ask("scontrol", "show", "config").splitlines())
    configuration = {name.strip(): value.strip() for name, _, value in lines}
    if "MaxArraySize" not in configuration:
        raise NoAnswerError("scontrol: the answer is no configuration of Slurm")
    return configuration


def parse_limits(configuration: dict[str, str]) -> ConfiguredLimits:
    """Return the limits of a configuration."""
    return ConfiguredLimits(
        tasks=max(1, parse_number(configuration["MaxArraySize"])),  # 0: the cluster accepts no arrays
        jobs=parse_number(configuration.get("MaxJobCount", "")) or None,
        retention_s=parse_number(configuration.get("MinJobAge", "")) or None,
        whole_nodes=configuration.get("SelectType") == "select/linear",
    )


def read_submit_limit(commands: Commands) -> int:
    """Return the largest MaxSubmitJobs of this user's associations; 0 if one of them has none.

    Raise NoAnswerError if sacctmgr does not answer.
    """
    answer = commands.ask("sacctmgr", "-n", "-P", "show", "user", "withassoc", "format=User,MaxSubmitJobs")
    limits = [line.split("|")[1] for line in answer.splitlines() if line.startswith(f"{user_name()}|")]
    return 0 if "" in limits else max(map(parse_number, limits), default=0)


def smallest_limit(*limits: int) -> int | None:
    """Return the smallest of the limits, where 0 means no limit; None if there is none."""
    return min((limit for limit in limits if limit), default=None)


def parse_number(text: str) -> int:
    """Return the number at the start of a value such as "60 sec"; 0 if there is none."""
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0
