"""StallWatch: find the ranks of an attempt that make no progress, and leave stacks and a record of them.

The agent of a node, or of one rank, calls `check` as often as it looks at its processes. When it returns True, the
folder has `attempts/N.stacks-R.txt` of this agent's ranks, and `attempts/N.rank-R.json` of the rank that others wait
for, and the agent kills its ranks. `check` reads small files of this agent's ranks about once a second, and only when
one of them makes no progress those of all ranks. It takes some seconds when it returns True, else well under a
millisecond per rank, and it never raises.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.folder.run_folder import RunFolder
from agent.stalls.rank_observer import RankObserver
from agent.stalls.record import describe, write_record
from agent.stalls.stacks import collect_stacks
from agent.stalls.suspects import RankView, Stall, find_stall
from agent.stalls.trace import trace_of

EVERY_S = 0.9
SUSPENDED_S = 15.0  # between two checks: this agent was suspended, and perhaps the ranks with it
CAUSE_S = 5.0  # for the record of the agent that has the stalled rank
MAX_THREADS = 16
RANKS_PER_S = 200  # of other agents that are read, at most


def watch_stalls(
    folder: RunFolder, attempt: int, spec: Mapping[str, Any], *, pids: Mapping[int, int], hosts: Sequence[str]
) -> StallWatch:
    """Return the watch of an agent: `pids` are the processes that it has started, `hosts` the host of every rank."""
    minutes = spec.get("stall_minutes")
    return StallWatch(folder.path, attempt, pids=pids, hosts=hosts, limit_s=minutes and float(minutes) * 60)


class StallWatch:
    """Watches the ranks of one agent, and those of other agents when its own make no progress."""

    def __init__(
        self,
        folder: Path,
        attempt: int,
        *,
        pids: Mapping[int, int],
        hosts: Sequence[str],
        limit_s: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit_s`: seconds without progress; None or 0: no limit."""
        self._folder, self._attempt, self._hosts, self._limit_s = folder, attempt, hosts, limit_s or 0.0
        self._clock, now = clock, clock()
        self._own = {rank: RankObserver(folder, attempt, rank, pid=pid, now=now) for rank, pid in sorted(pids.items())}
        self._others: dict[int, RankObserver] = {}
        self._other_views: list[RankView] = []
        self._last_at, self._others_at = now, 0.0
        self._is_over = not self._limit_s

    def check(self) -> bool:
        """Return whether the attempt has stalled; then stacks and record are written, and later calls return False."""
        if self._is_over or self._clock() - self._last_at < EVERY_S:
            return False
        try:
            stall = self._find()
        except Exception:  # a watch that fails must not end a run that goes on
            self._is_over = True
            return False
        if stall is None:
            return False
        self._is_over = True
        with suppress(Exception):
            self._leave_evidence(stall)
        return True

    def _find(self) -> Stall | None:
        now = self._clock()
        if now - self._last_at > SUSPENDED_S:
            for observer in (*self._own.values(), *self._others.values()):
                observer.restart(now)
        self._last_at = now
        own = [view for observer in self._own.values() if (view := observer.look(now))]
        if not any(max(view.idle_s, view.silent_s) >= self._limit_s / 2 for view in own):
            self._others, self._other_views = {}, []
            return None
        return find_stall([*own, *self._look_at_others(now)], self._limit_s)

    def _look_at_others(self, now: float) -> list[RankView]:
        """Return what is known of the other agents' ranks: their idle time counts from half of the limit on."""
        if not self._others:
            since = now - self._limit_s / 2
            ranks = [rank for rank in range(len(self._hosts)) if rank not in self._own]
            self._others = {rank: self._observe_other(rank, since) for rank in ranks}
            self._others_at = 0.0
        if now - self._others_at >= len(self._others) / RANKS_PER_S:
            self._others_at = now
            views = [observer.look(now) for rank, observer in self._others.items() if not self._has_ended(rank)]
            self._other_views = [view for view in views if view is not None]
        return self._other_views

    def _observe_other(self, rank: int, since: float) -> RankObserver:
        observer = RankObserver(self._folder, self._attempt, rank, pid=None, now=since)
        observer.look(since)
        return observer

    def _has_ended(self, rank: int) -> bool:
        return os.path.exists(self._attempts / f"{self._attempt}.exit-{rank}")

    @property
    def _attempts(self) -> Path:
        return self._folder / "attempts"

    def _leave_evidence(self, stall: Stall) -> None:
        """Write the stacks of this agent's ranks and the record of each suspect."""
        stacks = self._collect_stacks()
        for view in stall.suspects:
            if view.rank in self._own:
                self._record(view, stall, trace=trace_of(stacks.get(view.rank, "")), by=None)
        others = [view for view in stall.suspects if view.rank not in self._own]
        if others:
            self._await_records(others, stall)

    def _collect_stacks(self) -> dict[int, str]:
        """Return the stacks of this agent's ranks; all at once, because each may take some seconds."""
        pids = {rank: observer.pid for rank, observer in self._own.items()}
        with ThreadPoolExecutor(max_workers=MAX_THREADS) as pool:
            found = {
                rank: pool.submit(collect_stacks, self._attempts, self._attempt, rank, pid)
                for rank, pid in pids.items()
                if pid is not None
            }
        return {rank: stacks.result() for rank, stacks in found.items() if stacks.exception() is None}

    def _await_records(self, others: Sequence[RankView], stall: Stall) -> None:
        """Wait for the record by the agent of the stalled rank; write it if that agent is gone too."""
        until = time.monotonic() + CAUSE_S
        while time.monotonic() < until:
            if any(self._has_record(view.rank) for view in others):
                return
            time.sleep(0.1)
        view = others[0]
        self._record(view, stall, trace="", by=min(self._own, default=None))

    def _has_record(self, rank: int) -> bool:
        return os.path.exists(self._attempts / f"{self._attempt}.rank-{rank}.json")

    def _record(self, view: RankView, stall: Stall, *, trace: str, by: int | None) -> None:
        host = self._hosts[view.rank] if view.rank < len(self._hosts) else ""
        reason = describe(view, stall, host)
        write_record(self._attempts, self._attempt, view.rank, reason=reason, host=host, trace=trace, by=by)
