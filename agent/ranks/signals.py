"""The signals that this agent receives. A pipe wakes the main loop for each of them, and for each child's end."""

from __future__ import annotations

import os
import select
import signal
import time

SIGNALS = (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT)
TERM_S = 25.0  # by default Slurm sends SIGKILL 30 s after SIGTERM
REPEAT_S = 5.0  # one signal may be delivered twice; one this much later is a second request


class Signals:
    """Signals since `listen`, and the moment at which the ranks must have ended."""

    def __init__(self, term_s: float = TERM_S) -> None:
        self.received: list[int] = []  # each once, in order
        self.deadline: float | None = None  # by the monotonic clock
        self._term_s = term_s
        self._ended_at: float | None = None  # when the first request to end arrived
        self._read_end = -1

    @property
    def asks_for_end(self) -> bool:
        """Whether SIGTERM or SIGINT was received."""
        return self._ended_at is not None

    def listen(self) -> None:
        """Handle signals from now on."""
        self._read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        os.set_blocking(self._read_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, _handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*SIGNALS, signal.SIGCHLD))

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal or a child's end, at most `timeout_s`, and record the signals."""
        if select.select([self._read_end], [], [], max(timeout_s, 0.0))[0]:
            self.drain()

    def drain(self) -> None:
        """Record the signals that have arrived."""
        try:
            numbers = os.read(self._read_end, 4096)
        except BlockingIOError:
            return
        for number in numbers:
            if number in SIGNALS:
                self.receive(number, time.monotonic())

    def receive(self, number: int, now: float) -> None:
        """Record a signal that arrived at `now`, and set the deadline: SIGUSR2, a warning, has none."""
        is_new = number not in self.received
        if is_new:
            self.received.append(number)
        if number == signal.SIGUSR2:
            return
        if self._ended_at is None:
            self._ended_at, self.deadline = now, now + self._term_s
        elif now - self._ended_at >= REPEAT_S or (number == signal.SIGINT and not is_new):
            self.deadline = min(self.deadline or now, now)  # further requests give no more time


def _handle(number: int, frame: object) -> None:
    """Do nothing: Python writes to the pipe only for signals with a Python handler."""
