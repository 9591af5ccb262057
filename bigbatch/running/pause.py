"""The agreement of all ranks to pause after the same call of `should_pause`.

A signal of any rank becomes a decision of rank 0: all ranks pause at a later call, which is far enough away for every
rank to read the decision before. The ranks must call `should_pause` equally often, and no rank may be more than one
call ahead of another one, as with a collective in each step.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from collections import deque
from contextlib import suppress
from typing import Any

from bigbatch.running.environment import RunEnvironment
from bigbatch.running.measurement import step_number
from bigbatch.running.pause_board import Board, find_board
from bigbatch.running.pause_signals import PauseSignals
from bigbatch.running.warning import warn_once

INTERVALS = 20  # between the last calls, whose median gives the number of calls in a time
MIN_CALLS = 2  # between the decision and the pause: another rank may be in the call after the next one
MAX_CALLS = 1_000_000


class Pause:
    """This rank's part in the agreement."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._signals = PauseSignals()
        self._signals.listen()
        self._board: Board | None = None
        self._calls = 0
        self._target: int | None = None  # the call after which all ranks pause
        self._has_asked = self._is_noted = False
        self._called_at, self._look_at = math.nan, -math.inf
        self._intervals: deque[float] = deque(maxlen=INTERVALS)

    def is_due(self, step: Any, last_step: int) -> bool:
        """Count a call, and return whether the process should save and leave now."""
        self._calls += 1
        now = time.monotonic()
        if self._calls > 1:
            self._intervals.append(now - self._called_at)
        self._called_at = now
        is_due = self._signals.reason is not None if self._environment.world == 1 else self._is_agreed(now)
        if is_due and not self._is_noted and self._environment.rank == 0:
            number = step_number(step) if step is not None else None
            self._note(last_step if number is None else number)
        return is_due

    def _is_agreed(self, now: float) -> bool:
        try:
            self._look(now)
        except Exception as error:  # an unreachable store or folder: the next look tries again
            warn_once("pause", f"the ranks cannot agree on a pause now ({error})")
        if self._target is None:
            return False
        if self._calls > self._target and not self._is_noted:
            warn_once("late pause", f"this rank pauses {self._calls - self._target} calls later than the other ranks")
        return self._calls >= self._target

    def _look(self, now: float) -> None:
        """Read the decision; make it on rank 0, if it is due, and ask for it on other ranks."""
        if self._target is not None or (now < self._look_at and self._signals.reason is None):
            return
        if self._board is None:
            self._board = find_board(self._environment)
        board = self._board
        self._look_at = now + board.look_s
        if self._environment.rank:
            if self._signals.reason is not None and not self._has_asked:
                board.ask()
                self._has_asked = True
            self._target = board.decision()
        elif self._signals.reason is not None or board.is_asked():
            target = self._calls + self._margin(board.margin_s)
            board.decide(target)
            self._target = target

    def _margin(self, margin_s: float) -> int:
        """Return how many calls later than now the ranks pause."""
        interval_s = statistics.median(self._intervals) if self._intervals else margin_s
        return max(MIN_CALLS, min(math.ceil(margin_s / max(interval_s, 1e-6)), MAX_CALLS))

    def _note(self, step: int) -> None:
        """Write for the agent that this attempt pauses, and after which step."""
        path = os.path.join(str(self._environment.folder), "attempts", f"{self._environment.attempt}.paused")
        draft = f"{path}.{os.getpid()}"
        self._is_noted = True
        with suppress(OSError):  # the exit status says it too
            with open(draft, "w", encoding="utf-8") as file:
                json.dump({"step": step, "signal": self._signals.reason}, file)
            os.replace(draft, path)
