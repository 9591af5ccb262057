"""PauseSignals: SIGUSR2 and SIGTERM, recorded as a request to pause between two steps.

Before the first call of `should_pause` a process ignores SIGUSR2 (the agent starts it so), and SIGTERM ends it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

from bigbatch.running.warning import warn_once

SIGNALS = (signal.SIGUSR2, signal.SIGTERM)
REPEAT_S = 5.0  # one SIGTERM may be delivered twice; a SIGTERM this much later ends the process


class PauseSignals:
    """The request to pause that this process has received, if any."""

    def __init__(self) -> None:
        self.reason: str | None = None  # the first signal's name
        self._first_term: float | None = None
        self._older: dict[int, object] = {}

    def listen(self) -> None:
        """Handle the signals from now on, and call the handlers that the program had set as well."""
        try:
            for number in SIGNALS:
                self._older[number] = signal.signal(number, self._receive)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        except ValueError:  # Python sets handlers in the main thread alone
            warn_once(
                "signals", "should_pause() was first called in a thread: signals to this process ask for no pause"
            )

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.reason is None:
            self.reason = signal.Signals(number).name
        older = self._older.get(number)
        if callable(older):
            older(number, frame)
        if number != signal.SIGTERM:
            return
        now = time.monotonic()
        if self._first_term is None:
            self._first_term = now
        elif now - self._first_term >= REPEAT_S:
            with suppress(Exception):
                print("bigbatch: a second SIGTERM ends this process", file=sys.stderr, flush=True)
            os._exit(128 + signal.SIGTERM)
