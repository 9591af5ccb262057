"""Signals as a flag: which ones, how long there is time, and that a process which is stuck leaves all the same."""

import signal
import subprocess
import sys
import time

import pytest

from tests.testing.trainers.jobs import HOUSE
from trainers.recovery.preemption_signal import AGAIN_S, TERM_S, WARNED_S, Notice

TERM, WARNING = signal.SIGTERM, signal.SIGUSR2


@pytest.mark.parametrize(
    ("signals", "reason", "left_s"),
    [
        ([], None, None),
        ([(TERM, 0.0)], "SIGTERM", TERM_S),
        ([(WARNING, 0.0)], "SIGUSR2", WARNED_S),
        ([(TERM, 0.0), (TERM, 0.01)], "SIGTERM", TERM_S - 0.01),
        ([(TERM, 0.0), (TERM, AGAIN_S)], "SIGTERM", 0.0),
        ([(WARNING, 0.0), (WARNING, 10.0)], "SIGUSR2", WARNED_S - 10.0),
        ([(WARNING, 0.0), (TERM, 10.0)], "SIGUSR2", TERM_S),
        ([(TERM, 0.0), (WARNING, 1.0)], "SIGTERM", TERM_S - 1.0),
        ([(signal.SIGCHLD, 0.0)], None, None),
    ],
)
def test_what_signals_come_to(signals: list[tuple[int, float]], reason: str | None, left_s: float | None) -> None:
    notice = Notice(lambda _: None)
    for signum, at in signals:
        notice.take(signum, at)
    assert notice.reason == reason
    assert notice.left_s(signals[-1][1] if signals else 0.0) == pytest.approx(left_s)


STUCK = """
import ctypes, trainers.recovery.preemption_signal as n
n.TERM_S = 0.5
n.Notice(n.leave_at_once).listen()
print("up", flush=True)
while True:
    ctypes.CDLL(None).pause()
"""


def test_a_process_that_is_stuck_leaves_in_time() -> None:
    """Forces the fault: the main thread sits in a call that never comes back to Python, as in a broken collective."""

    child = subprocess.Popen(
        [sys.executable, "-c", STUCK], cwd=HOUSE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    begun = time.monotonic()
    child.send_signal(TERM)
    _, errors = child.communicate(timeout=60)
    assert 0.4 < time.monotonic() - begun < 20
    assert child.returncode == 128 + TERM
    assert errors == "left after SIGTERM: the ranks came to no common step in time\n"
