"""RankProcess: one process that the agent starts, its process group, and everything that it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from agent.ranks import processes
from agent.ranks.output_pump import OutputPump

# exit statuses of a process that a request to end has ended; a shell has 128 more for its program
STOPPED = tuple(status for number in (signal.SIGTERM, signal.SIGINT) for status in (-number, 128 + number))


class RankProcess:
    """The process of one rank, or a launcher that starts several."""

    def __init__(
        self,
        rank: int,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        *,
        pump: OutputPump | None = None,
    ) -> None:
        """Start the process in `folder`; raise OSError. A launcher has no pump: it inherits the output."""
        self.rank = rank
        self.is_launcher = False  # it passes signals on to its ranks itself
        self._warned: set[int] = set()  # processes that have got SIGUSR2
        self.was_killed = False
        ends = pump.connect(rank) if pump else (None, None)
        try:
            self._child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=ends[0],
                stderr=ends[1],
                env=dict(environment),
                cwd=folder,
                preexec_fn=processes.prepare_rank,  # the agent has no other thread yet
            )
        finally:
            for end in filter(None, ends):
                os.close(end)
        self.pid = self._child.pid
        self._groups = {self.pid}  # of the program and of what it has started, once it was asked to end

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process lives."""
        return self._child.poll()

    def has_left_group(self) -> bool:
        """Return whether the process was ended by a request to end, and others of its groups are still at work.

        A shell does not wait: of `python train.py | tee log` it dies at once, while the program saves its state.
        """
        return self.poll() in STOPPED and any(map(processes.has_group, self._groups))

    def warn(self) -> None:
        """Send SIGUSR2 once to each process of this rank that handles it: a program may be starting still."""
        if not processes.IS_LINUX:
            if not self._warned:
                self._warned.add(self.pid)
                processes.signal_group(self.pid, signal.SIGUSR2)
            return
        for pid in (self.pid, *processes.descendants(self.pid)):
            if pid not in self._warned and processes.catches(pid, signal.SIGUSR2):
                self._warned.add(pid)
                processes.signal_all([pid], signal.SIGUSR2)

    def end(self, number: int) -> None:
        """Send the request to end to the program and its helpers, in process groups of their own too.

        `timeout 1h python train.py | tee log` runs in a group that the shell's signals do not reach.
        """
        if not self.is_launcher:
            self._groups |= processes.groups_below(self.pid)
        for group in self._groups:
            processes.signal_group(group, number)

    def kill(self) -> None:
        """Kill the process and all its descendants."""
        self.was_killed = self.was_killed or self.poll() is None or self.has_left_group()
        below = processes.descendants(self.pid)
        for group in self._groups:
            processes.signal_group(group, signal.SIGKILL)
        processes.signal_all(below, signal.SIGKILL)


def kill_left_behind() -> None:
    """Kill what ended ranks left behind: by now these processes are children of this one."""
    for _ in range(3):  # a process may start another one meanwhile
        left = processes.descendants(os.getpid())
        if not left:
            break
        processes.signal_all(left, signal.SIGKILL)
