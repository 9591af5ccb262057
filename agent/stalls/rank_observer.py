"""RankObserver: since when a rank has made no progress, by the clock of the agent that observes its files."""

from __future__ import annotations

from pathlib import Path

from agent.stalls.process_state import is_stopped
from agent.stalls.progress_file import Note, points_bytes, read_note
from agent.stalls.suspects import RankView

LOG_TIMES = 4  # a program that only logs has stalled after so many of its longest pauses between two points


class RankObserver:
    """Observes one rank; `pid` is the process that this agent started for it, None for a rank of another agent."""

    def __init__(self, folder: Path, attempt: int, rank: int, *, pid: int | None, now: float) -> None:
        self._folder, self._attempt, self.rank, self._started_pid = folder, attempt, rank, pid
        self.note: Note | None = None
        self._bytes = points_bytes(folder, rank)
        self._logs = 0  # how often the file of points has grown
        self._longest_pause_s = 0.0
        self._progress_at = self._moved_at = self._noted_at = now
        self._stopped_since: float | None = None

    @property
    def pid(self) -> int | None:
        """The process that trains, None for a rank of another agent."""
        if self._started_pid is None:
            return None
        return self._started_pid if self.note is None else self.note.pid

    def look(self, now: float) -> RankView | None:
        """Read the rank's files; return what is known, None if the rank has ended."""
        note = read_note(self._folder / "attempts", self._attempt, self.rank)
        if note is not None:
            self._compare(note, now)
        self._look_at_points(now)
        if self.note is not None and self.note.is_over:
            return None
        stopped = self.pid is not None and is_stopped(self.pid)
        self._stopped_since = (self._stopped_since or now) if stopped else None
        return self._view(now, stopped=stopped)

    def restart(self, now: float) -> None:
        """Count from now on: this agent did not run for a while, and neither did the ranks, perhaps."""
        self._progress_at = self._moved_at = self._noted_at = now
        self._stopped_since = None

    def _compare(self, note: Note, now: float) -> None:
        before, self.note = self.note, note
        if before is None or note.counts != before.counts:
            self._progress_at = now
        if before is None or note.moves != before.moves or note.counts != before.counts:
            self._moved_at = now
        if before is None or note.beats != before.beats:
            self._noted_at = now

    def _look_at_points(self, now: float) -> None:
        size = points_bytes(self._folder, self.rank)
        if size != self._bytes:
            if self._logs and self.note is None:
                self._longest_pause_s = max(self._longest_pause_s, now - self._progress_at)
            self._bytes, self._logs = size, self._logs + 1
            self._progress_at = self._moved_at = now

    def _view(self, now: float, *, stopped: bool) -> RankView:
        note, idle_s = self.note, now - self._progress_at
        if note is None:  # a pause that is usual for the program is no stall
            idle_s = max(0.0, idle_s - LOG_TIMES * self._longest_pause_s)
        silent_s = now - self._noted_at if note is not None else 0.0
        if self._stopped_since is not None:
            silent_s = now - self._stopped_since
        return RankView(
            self.rank,
            idle_s,
            still_s=now - self._moved_at,
            silent_s=silent_s,
            begun=note.begun if note else 0,
            collective=note.collective if note else None,
            line=note.line if note else "",
            is_stopped=stopped,
            is_armed=note.steps > 0 if note else self._logs > 1,
        )
