"""PreemptionSignal: SIGTERM, or SIGUSR2 (Slurm's warning), recorded as a request to pause between steps.

A thread reads the signals from a pipe, because a main thread that waits in a collective runs no signal handler. If the
ranks reach no common step in time, or SIGTERM is repeated, this process exits at once: its checkpoints are complete.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable

from contract.folder.job_identity import MAX_WARNING_S

PAUSE_SIGNALS = (signal.SIGTERM, signal.SIGUSR2)
TERM_S = 25.0  # by default Slurm sends SIGKILL 30 s after SIGTERM
WARNED_S = MAX_WARNING_S - 10.0
REPEAT_S = 5.0  # one SIGTERM may be delivered twice; a SIGTERM this much later is a second request


class PreemptionSignal:
    """The request to pause that this process has received, if any, and the time that remains until it must exit."""

    def __init__(self, exit_process: Callable[[str], None]) -> None:
        """`exit_process` is called with the first signal's name when no time remains."""
        self.reason: str | None = None  # the first signal's name
        self._exit_process = exit_process
        self._first_term: float | None = None
        self._deadline: float | None = None

    def listen(self) -> None:
        """Handle signals from now on; do nothing outside of the main thread, where Python cannot set handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for signum in PAUSE_SIGNALS:
            signal.signal(signum, lambda *_: None)  # Python writes to the pipe only for signals with a Python handler
            signal.siginterrupt(signum, False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PAUSE_SIGNALS)  # the parent process may have blocked them
        threading.Thread(target=self._read_pipe, args=(read_end,), daemon=True, name="preemption-signal").start()

    def receive(self, signum: int, now: float) -> None:
        """Record a signal that arrived at `now` by the monotonic clock, and set the deadline."""
        if signum not in PAUSE_SIGNALS:
            return
        self.reason = self.reason or signal.Signals(signum).name
        if signum == signal.SIGTERM and self._first_term is None:
            self._first_term = now
            self._deadline = min(self._deadline or now + TERM_S, now + TERM_S)
        elif signum == signal.SIGTERM and self._first_term is not None and now - self._first_term >= REPEAT_S:
            self._deadline = now
        else:
            self._deadline = self._deadline or now + WARNED_S

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until this process must exit, or None if it has received no signal."""
        return None if self._deadline is None else max(0.0, self._deadline - now)

    def _read_pipe(self, read_end: int) -> None:
        while (seconds_left := self.seconds_left(time.monotonic())) != 0:
            if select.select([read_end], [], [], seconds_left)[0]:
                for signum in os.read(read_end, 64):
                    self.receive(signum, time.monotonic())
        self._exit_process(str(self.reason))


def exit_now(reason: str) -> None:
    """End this process at once, whatever its main thread does."""
    print(f"left after {reason}: the ranks came to no common step in time", file=sys.stderr, flush=True)
    os._exit(128 + signal.Signals[reason])
