"""The processes of local jobs, found among all processes of this machine in one pass that never waits.

The kernel shows a process's environment, with the name of its job, only to the same user. It shows none in the moment
in which it loads the process's program (execve), and none ever if the process has removed it. Time alone tells whether
a process is in that moment: `JobProcesses` remembers how long a process has been seen without a name.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import Lock

import psutil

from contract.folder.job_identity import JOB_NAME_VARIABLE

# for so long a process without environment and command line may be loading its program: on a busy machine a millisecond
LOADING_S = 2.0


class Seen(Enum):
    """What a process without a job's name is."""

    NO_JOB = auto()
    LOADING = auto()  # it may get the name of a job in a moment


@dataclass
class JobProcesses:
    """The processes of this user, each with the name of its job."""

    # by process id: when, by the monotonic clock, a process was first seen without environment and command line
    _since: dict[int, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)  # several ticks may look at once

    def name_of(self, process: psutil.Process) -> str | Seen:
        """Return the name of the job that the process belongs to; raise psutil.Error if that cannot be read."""
        environment = process.environ() or self._again(process)
        if environment or process.status() == psutil.STATUS_ZOMBIE:
            with self._lock:
                self._since.pop(process.pid, None)
            return environment.get(JOB_NAME_VARIABLE, Seen.NO_JOB)
        present = time.monotonic()
        with self._lock:
            since = self._since.setdefault(process.pid, present)
        return Seen.LOADING if present - since < LOADING_S else Seen.NO_JOB

    def groups(self) -> Iterator[tuple[psutil.Process, int, str | Seen]]:
        """Yield every process of this user with its process group and the name of its job."""
        there = set()
        for process in psutil.process_iter():
            there.add(process.pid)
            with suppress(psutil.Error, ProcessLookupError, PermissionError):
                group = os.getpgid(process.pid)
                name = self.name_of(process)
                if isinstance(name, str) or _is_ours(process):
                    yield process, group, name
        with self._lock:
            self._since = {pid: since for pid, since in self._since.items() if pid in there}

    def leaders(self) -> Iterator[tuple[psutil.Process, str | Seen]]:
        """Yield the first process of every process group, with the name of its job."""
        return ((process, name) for process, group, name in self.groups() if group == process.pid)

    def _again(self, process: psutil.Process) -> dict[str, str]:
        """Return the environment if the program was loaded since it was read: the command line shows that first."""
        return process.environ() if process.cmdline() else {}


def _is_ours(process: psutil.Process) -> bool:
    return process.uids().real == os.getuid()
