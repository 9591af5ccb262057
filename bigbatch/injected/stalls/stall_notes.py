"""StallNotes: a rank's progress in attempts/N.progress-R, which the agents of all nodes read.

    {"pid": 4711, "beats": 12, "steps": 310, "batches": 311, "begun": 930, "ended": 929, "moves": 11,
     "collective": "all_reduce", "line": "train.py:31 in main", "is_over": false}

`beats` counts the notes: a process that is stopped writes none. `moves` counts the notes between which the program did
anything: its stack has changed, or it computes outside of a collective.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bigbatch.injected.process import RankProcess
from bigbatch.injected.progress import Progress
from bigbatch.injected.stalls.flight_record import write_flight_record
from bigbatch.injected.stalls.stack_notes import Frame, StackNotes, own_line, read_frames

BUSY_SHARE = 0.5  # of a core: a thread that uses more computes


class StallNotes:
    """Writes the progress and the stack of one rank."""

    def __init__(self, process: RankProcess, progress: Progress, stall_s: float | None) -> None:
        self._process, self._progress, self._stall_s = process, progress, stall_s
        self._path = process.attempt_file(f"progress-{process.rank}")
        self._beats = self._moves = 0
        self._last: tuple[Any, ...] = ()
        self._counts, self._changed_at = progress.counts(), time.monotonic()
        self._cpu = (0.0, 0.0)  # the wall time and the thread's CPU time of the last note
        self._has_record = False
        self._stacks: StackNotes | None = None
        with suppress(OSError):
            stacks, threads = (process.attempt_file(f"{name}-{process.rank}.txt") for name in ("stacks", "threads"))
            self._stacks = StackNotes(stacks, threads, process.rank)

    def write(self, *, is_last: bool = False) -> None:
        """Write a note; an error of the file system loses the note."""
        frames = read_frames(self._progress.thread)
        self._beats += 1
        self._note_moves(frames)
        self._note_stall()
        with suppress(OSError):
            self._replace(json.dumps(self._note(frames, is_over=is_last)))
        if self._stacks is not None and frames and not is_last:
            with suppress(OSError):
                self._stacks.write(frames)

    def _note(self, frames: Sequence[Frame], *, is_over: bool) -> dict[str, Any]:
        progress = self._progress
        return {
            "pid": self._process.id,
            "beats": self._beats,
            "steps": progress.steps,
            "batches": progress.batches,
            "begun": progress.begun,
            "ended": progress.ended,
            "moves": self._moves,
            "collective": progress.collective,
            "line": own_line(frames),
            "is_over": is_over,
        }

    def _note_moves(self, frames: Sequence[Frame]) -> None:
        before, self._last = self._last, (self._progress.counts(), *frames)
        is_waiting = self._progress.collective is not None
        if before and (before != self._last or (self._is_busy() and not is_waiting)):
            self._moves += 1

    def _is_busy(self) -> bool:
        """Return whether the thread computes; NCCL's waits use a whole core, so there nothing can be concluded."""
        try:
            clock = time.pthread_getcpuclockid(self._progress.thread or 0)
            now = (time.monotonic(), time.clock_gettime(clock))
        except (AttributeError, OSError):
            return False
        before, self._cpu = self._cpu, now
        return now[1] - before[1] > BUSY_SHARE * (now[0] - before[0]) and not _waits_on_gpu()

    def _note_stall(self) -> None:
        """Write torch's flight record once the rank has made no progress for half of the time-out."""
        counts = self._progress.counts()
        if counts != self._counts:
            self._counts, self._changed_at, self._has_record = counts, time.monotonic(), False
        elif self._stall_s and not self._has_record and time.monotonic() - self._changed_at > self._stall_s / 2:
            self._has_record = True
            with suppress(Exception):
                write_flight_record(self._process.attempt_file(f"flight-{self._process.rank}"))

    def _replace(self, text: str) -> None:
        draft = f"{self._path}.new"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, self._path)


def _waits_on_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()
