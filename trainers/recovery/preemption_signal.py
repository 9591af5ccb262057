"""A signal that asks a run to pause (SIGTERM, or SIGUSR2, Slurm's warning), made a flag to look at between steps.

A thread hears of it through a pipe, for a main thread that waits in a collective runs no handler. When the ranks do
not come to a common step in time, or the signal is repeated, this process leaves at once: its checkpoints are whole.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable

from contract.folder.job_identity import WARNING_S

ASKING = (signal.SIGTERM, signal.SIGUSR2)
TERM_S = 25.0  # SIGKILL comes 30 s after SIGTERM, by Slurm's default
WARNED_S = WARNING_S - 10.0
AGAIN_S = 5.0  # one SIGTERM may arrive twice; one that comes so much later means what it says


class Notice:
    """Whether, and by which signal, this process was asked to pause."""

    def __init__(self, leave: Callable[[str], None]) -> None:
        self.reason: str | None = None  # the first signal's name
        self._leave = leave  # told the reason when there is no more time
        self._first_term: float | None = None
        self._deadline: float | None = None

    def listen(self) -> None:
        """Hear signals from now on; in another thread than the main one, where Python cannot, hear none."""
        if threading.current_thread() is not threading.main_thread():
            return
        ear, mouth = os.pipe()
        os.set_blocking(mouth, False)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        for signum in ASKING:
            signal.signal(signum, lambda *_: None)  # a handler of Python's: only then is the pipe written to
            signal.siginterrupt(signum, False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)  # whoever started this process may have had them blocked
        threading.Thread(target=self._hear, args=(ear,), daemon=True, name="notice").start()

    def take(self, signum: int, now: float) -> None:
        """Take note of a signal that came at `now` by the monotonic clock."""
        if signum not in ASKING:
            return
        self.reason = self.reason or signal.Signals(signum).name
        if signum == signal.SIGTERM and self._first_term is None:
            self._first_term = now
            self._deadline = min(self._deadline or now + TERM_S, now + TERM_S)
        elif signum == signal.SIGTERM and self._first_term is not None and now - self._first_term >= AGAIN_S:
            self._deadline = now
        else:
            self._deadline = self._deadline or now + WARNED_S

    def left_s(self, now: float) -> float | None:
        """Seconds until this process leaves in any case; none while nobody has asked it to."""
        return None if self._deadline is None else max(0.0, self._deadline - now)

    def _hear(self, ear: int) -> None:
        while (left_s := self.left_s(time.monotonic())) != 0:
            if select.select([ear], [], [], left_s)[0]:
                for signum in os.read(ear, 64):
                    self.take(signum, time.monotonic())
        self._leave(str(self.reason))


def leave_at_once(reason: str) -> None:
    """End this process, in the middle of whatever it does."""
    print(f"left after {reason}: the ranks came to no common step in time", file=sys.stderr, flush=True)
    os._exit(128 + signal.Signals[reason])
