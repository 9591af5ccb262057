"""Which signals request a pause, how much time remains, and that a blocked process exits in time."""

import signal
import subprocess
import sys
import time

import pytest

from tests.testing.trainers.jobs import HOUSE
from trainers.recovery.preemption_signal import REPEAT_S, TERM_S, WARNED_S, PreemptionSignal

TERM, WARNING = signal.SIGTERM, signal.SIGUSR2


@pytest.mark.parametrize(
    ("signals", "reason", "seconds_left"),
    [
        ([], None, None),
        ([(TERM, 0.0)], "SIGTERM", TERM_S),
        ([(WARNING, 0.0)], "SIGUSR2", WARNED_S),
        ([(TERM, 0.0), (TERM, 0.01)], "SIGTERM", TERM_S - 0.01),
        ([(TERM, 0.0), (TERM, REPEAT_S)], "SIGTERM", 0.0),
        ([(WARNING, 0.0), (WARNING, 10.0)], "SIGUSR2", WARNED_S - 10.0),
        ([(WARNING, 0.0), (TERM, 10.0)], "SIGUSR2", TERM_S),
        ([(TERM, 0.0), (WARNING, 1.0)], "SIGTERM", TERM_S - 1.0),
        ([(signal.SIGCHLD, 0.0)], None, None),
    ],
)
def test_the_first_signal_is_the_reason_and_sets_the_deadline(
    signals: list[tuple[int, float]], reason: str | None, seconds_left: float | None
) -> None:
    preemption = PreemptionSignal(lambda _: None)
    for signum, at in signals:
        preemption.receive(signum, at)
    assert preemption.reason == reason
    assert preemption.seconds_left(signals[-1][1] if signals else 0.0) == pytest.approx(seconds_left)


STUCK = """
import ctypes, trainers.recovery.preemption_signal as n
n.TERM_S = 0.5
n.PreemptionSignal(n.exit_now).listen()
print("up", flush=True)
while True:
    ctypes.CDLL(None).pause()
"""


def test_a_blocked_process_exits_in_time() -> None:
    """Forces a main thread in a call that never returns to Python, as in a broken collective."""

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
