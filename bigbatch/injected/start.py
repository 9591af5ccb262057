"""Start the time split and the stall watch in a rank's process, once the program has loaded torch."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

from bigbatch.injected.import_hook import after_import
from bigbatch.injected.lightning_requeue import switch_off_requeue
from bigbatch.injected.loopback_store import keep_on_loopback
from bigbatch.injected.process import RankProcess
from bigbatch.injected.progress import Progress
from bigbatch.injected.stalls.flight_record import prepare_flight_record
from bigbatch.injected.stalls.stall_notes import StallNotes
from bigbatch.injected.step_timer import StepTimer
from bigbatch.injected.times.time_split import TimeSplit
from bigbatch.injected.torch_calls import TorchCalls
from bigbatch.injected.watch import Watch, Writer


def start_in_program() -> None:
    """Wait for the program to load torch or Lightning; a program without them runs as it would without this call."""
    write_whole_lines()
    switch_off_requeue()
    process = RankProcess.from_environment()
    hook = _Hook(process.attempt_file("flight-")) if process else None

    def attach(torch: ModuleType) -> None:
        with suppress(Exception):  # also in torchrun, which has the store of its ranks
            keep_on_loopback(torch)
        if hook:
            hook.attach(torch)

    after_import("torch", attach)


class _Hook:
    """The parts of the hook in this process."""

    def __init__(self, flight_prefix: str) -> None:
        self._timer, self._progress, self._flight_prefix = StepTimer(), Progress(), flight_prefix
        self._timer.is_off = os.environ.get("BIGBATCH_TIME_SPLIT") != "1"
        self._has_begun = False
        os.register_at_fork(after_in_child=self._switch_off)

    def attach(self, torch: ModuleType) -> None:
        """Wrap torch's functions."""
        with suppress(Exception):
            prepare_flight_record(torch, self._flight_prefix)
        TorchCalls(self._timer, self._progress, self._begin).wrap(torch)

    def _begin(self) -> None:
        """Start the thread at the first process group, or the first update."""
        if self._has_begun:
            return
        self._has_begun = True
        with suppress(Exception):
            process = RankProcess.from_environment()  # not the one that loaded torch, if that has forked this process
            if process is None:
                self._timer.is_off = True
                return
            process.become_owner()
            writers: list[Writer] = [StallNotes(process, self._progress, _read_stall_s(process.folder))]
            if not self._timer.is_off:
                writers.append(TimeSplit(process, self._timer))
            Watch(process, writers).start()

    def _switch_off(self) -> None:
        self._timer.is_off = self._timer.is_off or self._has_begun  # a child of a rank that trains is no rank


def _read_stall_s(folder: str) -> float | None:
    """Return the seconds without progress after which the run fails, None without a limit."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        with open(os.path.join(folder, "spec.json"), encoding="utf-8") as file:
            minutes = json.load(file).get("stall_minutes")
        return float(minutes) * 60 if minutes else None
    return None


def write_whole_lines() -> None:
    """Let the program's standard output and errors wait for the end of a line, or for flush().

    With PYTHONUNBUFFERED, which the agent sets so that no line is late, print() writes each of its parts by itself, and
    srun makes a labelled line of each part.
    """
    for stream in (sys.stdout, sys.stderr):
        text: Any = stream  # None without a console
        with suppress(Exception):
            text.reconfigure(line_buffering=True, write_through=False)
