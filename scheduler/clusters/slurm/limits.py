"""How much a Slurm takes: MaxArraySize, MaxJobCount, MinJobAge of its configuration, MaxSubmitJobs of its user."""

import math
import re
import threading
import time
from getpass import getuser
from typing import NamedTuple

from scheduler.clusters.cluster import BusyError, DoubtError, Limits
from scheduler.clusters.slurm.commands import Commands

DEFAULT_TASKS = 1001  # Slurm's own
SERVES_S = 3600.0  # what was read
LARGEST = 4_000_001  # that Slurm admits in an array at all
AGAIN_S, REST_S = 300.0, 10.0  # after an answer that failed; while nothing is known at all


class Configured(NamedTuple):
    """What a cluster's configuration says."""

    tasks: int  # in an array; the highest index is one less
    jobs: int | None  # that the controller holds, of all users
    remembers_s: float | None  # for how long squeue knows a job that has ended; None: for ever, or it does not say
    linear: bool  # nodes are given whole


class SlurmLimits:
    """A Slurm's limits as they were last read. The parts are asked by themselves, and a failure hides none for long."""

    def __init__(self, commands: Commands) -> None:
        self._commands, self._alone = commands, threading.Lock()  # several ticks may want them first
        self._configured: Configured | None = None
        self._submits = 0  # of this user at once; 0: no limit is known
        # tasks of an array that are tried, and that were refused; when that may have passed
        self._taken, self._refused, self._more_after = LARGEST, LARGEST, math.inf
        self._doubt = ""
        self._configuration_due = self._submits_due = -math.inf

    @property
    def known(self) -> Limits | None:
        """What is known without a call."""
        if not (told := self._configured):
            return None
        return Limits(min(told.tasks, self._taken), most(told.jobs or 0, self._submits), told.remembers_s)

    @property
    def largest_array(self) -> int:
        """How many tasks the configuration admits in one, whatever was too much lately."""
        return self._configured.tasks if self._configured else 1

    @property
    def linear(self) -> bool:
        """Whether it is known to give nodes whole wherever a partition does not say otherwise."""
        return bool(self._configured and self._configured.linear)

    def read(self) -> Limits:
        """Ask for what is old; raise DoubtError while the configuration is not known at all."""
        with self._alone:
            if time.monotonic() >= self._more_after:
                self._taken, self._refused, self._more_after = 2 * self._taken, LARGEST, math.inf
            if time.monotonic() >= self._configuration_due:
                self._read_configuration()
            if time.monotonic() >= self._submits_due and self._configured:
                self._read_submit_limit()
            if limits := self.known:
                return limits
            raise DoubtError(self._doubt)

    def was_too_much(self, tasks: int) -> None:
        """So many were refused, whatever the configuration says: half of them are tried, and more of them later."""
        self._refused, self._more_after = tasks, time.monotonic() + AGAIN_S
        self._taken = min(self._taken, max(1, tasks // 2))

    def was_taken(self, tasks: int) -> None:
        """So many were taken: if that is all that was tried, the next may be larger, but not what was just refused."""
        if tasks >= self._taken:
            self._taken = min(2 * self._taken, (self._taken + self._refused) // 2)

    def _read_configuration(self) -> None:
        try:
            self._configured = configured(configuration(self._commands))
            serves_s = SERVES_S
        except BusyError:
            if not self._configured:
                raise
            return
        except DoubtError as doubt:
            self._doubt, serves_s = str(doubt), AGAIN_S if self._configured else REST_S
        self._configuration_due = time.monotonic() + serves_s

    def _read_submit_limit(self) -> None:
        """Until it is known, Slurm itself refuses what is too much, and less is submitted."""
        try:
            self._submits, serves_s = submit_limit(self._commands), SERVES_S
        except BusyError:
            return
        except DoubtError:
            serves_s = AGAIN_S
        self._submits_due = time.monotonic() + serves_s


def configuration(commands: Commands) -> dict[str, str]:
    """Slurm's configuration, name by name; raise DoubtError when scontrol does not answer."""
    told = dict(_pairs(commands.ask("scontrol", "show", "config")))
    if "MaxArraySize" not in told:
        raise DoubtError("scontrol: this is no configuration of Slurm")
    return told


def configured(told: dict[str, str]) -> Configured:
    """The limits among what the configuration says."""
    return Configured(
        tasks=max(1, number(told["MaxArraySize"])),  # 0: no arrays at all
        jobs=number(told.get("MaxJobCount", "")) or None,
        remembers_s=number(told.get("MinJobAge", "")) or None,
        linear=told.get("SelectType") == "select/linear",
    )


def submit_limit(commands: Commands) -> int:
    """MaxSubmitJobs of this user's associations, the most generous one; 0 where none is set.

    Raise DoubtError when sacctmgr does not answer.
    """
    said = commands.ask("sacctmgr", "-n", "-P", "show", "user", "withassoc", "format=User,MaxSubmitJobs")
    limits = [line.split("|")[1] for line in said.splitlines() if line.startswith(f"{getuser()}|")]
    return 0 if "" in limits else max(map(number, limits), default=0)


def most(*limits: int) -> int | None:
    """The least of the limits that there are, where 0 is none."""
    return min((limit for limit in limits if limit), default=None)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name.strip(), value.strip()) for name, _, value in (line.partition("=") for line in text.splitlines())]


def number(text: str) -> int:
    """The number that a value begins with, as "60 sec" does; 0 where there is none."""
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0
