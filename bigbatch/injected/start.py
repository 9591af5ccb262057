"""Start the time split and the stall watch in a rank's process, once the program has loaded torch."""

from __future__ import annotations

import os
from contextlib import suppress
from types import ModuleType

from bigbatch.injected.import_hook import after_import
from bigbatch.injected.process import RankProcess
from bigbatch.injected.progress import Progress
from bigbatch.injected.step_timer import StepTimer
from bigbatch.injected.time_split import TimeSplit
from bigbatch.injected.torch_calls import TorchCalls
from bigbatch.injected.watch import Watch, Writer


def start_in_program() -> None:
    """Wait for the program to load torch; a program without torch runs as it would without this call."""
    if RankProcess.from_environment() is not None:
        after_import("torch", _Hook().attach)


class _Hook:
    """The parts of the hook in this process."""

    def __init__(self) -> None:
        self._timer, self._progress = StepTimer(), Progress()
        self._timer.is_off = os.environ.get("BIGBATCH_TIME_SPLIT") != "1"
        self._has_begun = False
        os.register_at_fork(after_in_child=self._switch_off)

    def attach(self, torch: ModuleType) -> None:
        """Wrap torch's functions."""
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
            writers: list[Writer] = [] if self._timer.is_off else [TimeSplit(process, self._timer)]
            Watch(process, writers).start()

    def _switch_off(self) -> None:
        self._timer.is_off = self._timer.is_off or self._has_begun  # a child of a rank that trains is no rank
