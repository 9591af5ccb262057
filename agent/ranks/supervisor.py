"""Supervisor: observe started processes to their end, forward signals, and end what does not end in time."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Callable

from agent.folder.rank_ends import RankEnd
from agent.ranks.rank_process import RankProcess
from agent.ranks.signals import Signals
from agent.stalls.watch import StallWatch
from runfiles.exit_status import PAUSED

GRACE_S = 5.0  # for the other ranks after the first failure
PAUSE_S = 80.0  # for the other ranks after the first one has paused
REQUEST_S = 1.0  # for a request to end that has reached the ranks first: Slurm sends it to each process of a step
BY_REQUEST = {sign * number + base for number in (signal.SIGTERM, signal.SIGINT) for sign, base in ((-1, 0), (1, 128))}
POLL_S = 0.5  # while a signal is to be forwarded to programs that are starting


class Supervisor:
    """Observes the processes of one agent."""

    def __init__(self, host: str, signals: Signals, on_end: Callable[[RankEnd], None]) -> None:
        """`on_end` is called with each end, in the order of the ends."""
        self._host, self._signals, self._on_end = host, signals, on_end
        self._deadline: float | None = None
        self._forwarded: set[int] = set()
        self._oom_kills = count_oom_kills()
        self.ends: list[RankEnd] = []
        self.superseded_by: int | None = None  # a later attempt that has begun
        self.has_killed = False  # a process did not end in time after a request to end
        self.has_stalled = False  # the processes were ended because a rank made no progress

    def supersede(self, attempt: int) -> None:
        """End all processes at the next look, because a later attempt has begun. Any thread may call this."""
        self.superseded_by = attempt

    @property
    def has_ended_well(self) -> bool:
        """Whether all processes have ended with the status of a success or of a pause."""
        return all(end.status in (0, PAUSED) for end in self.ends)

    def observe(self, started: Sequence[RankProcess], what: str = "", *, stalls: StallWatch | None = None) -> None:
        """Return after all processes have ended; `what` names a process that is not the rank's own program."""
        running = list(started)
        while running:
            for process in list(running):
                status = process.poll()
                if status in BY_REQUEST:
                    self._await_request()
                if status is not None and not (self._signals.asks_for_end and process.has_left_group()):
                    running.remove(process)
                    self._record(process, status, what)
            self._forward(running)
            if running and stalls is not None and stalls.check():
                self.has_stalled = True
            if running and (self.has_stalled or self._is_over()):
                for process in running:
                    process.kill()
            if running:
                self._signals.wait(self._timeout_s())

    def _await_request(self) -> None:
        """Wait for the agent's own signal where a rank has died of one: the ranks may have got it first."""
        until = time.monotonic() + REQUEST_S
        while not self._signals.asks_for_end and (left_s := until - time.monotonic()) > 0:
            self._signals.wait(left_s)

    def _record(self, process: RankProcess, status: int, what: str) -> None:
        asked = self._signals.asks_for_end and status not in (PAUSED,)
        end = RankEnd(
            process.rank,
            self._host,
            status,
            is_stop=process.was_killed or asked,
            is_out_of_memory=status in (-signal.SIGKILL, 128 + signal.SIGKILL) and self._has_new_oom_kill(),
            what=what,
        )
        self.ends.append(end)
        self.has_killed = self.has_killed or process.was_killed
        now = time.monotonic()
        if end.is_failure:
            self._deadline = min(self._deadline or now + GRACE_S, now + GRACE_S)
        elif status == PAUSED and self._deadline is None:
            self._deadline = now + PAUSE_S
        self._on_end(end)

    def _has_new_oom_kill(self) -> bool:
        before, self._oom_kills = self._oom_kills, count_oom_kills()
        return before is not None and self._oom_kills is not None and self._oom_kills > before

    def _forward(self, running: Sequence[RankProcess]) -> None:
        for number in self._signals.received:
            for process in running:
                if number == signal.SIGUSR2:
                    process.warn()
                elif number not in self._forwarded:
                    process.end(number)
            if number != signal.SIGUSR2:
                self._forwarded.add(number)

    def _is_over(self) -> bool:
        deadlines = [at for at in (self._deadline, self._signals.deadline) if at is not None]
        return self.superseded_by is not None or any(time.monotonic() >= at for at in deadlines)

    def _timeout_s(self) -> float:
        """Return how long to wait: signals and ends wake the loop, a later attempt and starting programs do not."""
        deadlines = [at for at in (self._deadline, self._signals.deadline) if at is not None]
        left_s = min((max(at - time.monotonic(), 0.01) for at in deadlines), default=POLL_S)
        return min(left_s, POLL_S)


ROOT = Path("/sys/fs/cgroup")


def count_oom_kills(cgroup: Path = Path("/proc/self/cgroup"), root: Path = ROOT) -> int | None:
    """Return the number of such kills in this process's cgroup; None if the kernel does not show it."""
    try:
        lines = cgroup.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            file = root / path.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            file = root / "memory" / path.lstrip("/") / "memory.oom_control"
        else:
            continue
        with suppress(OSError):
            if found := re.search(r"^oom_kill (\d+)$", file.read_text(), re.M):
                return int(found[1])
    return None
