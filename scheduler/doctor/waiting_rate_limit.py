"""The doctor's gate: its calls are the service's too, so it waits for a free one, and says that it waits."""

import sys
import time

from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.rate_limit import PER_MINUTE, SPARE_S, Gate, OpenGate, Urgency
from scheduler.clusters.shared_rate_limit import Budget

WAIT_S, LOOK_S = 90.0, 0.5  # a person asked: after so long a call is made all the same
WAITS = f"waiting for a call of Slurm: the {PER_MINUTE} of this minute are spent, or kept for other calls ..."
GOES_ON = f"none came free within {WAIT_S:g} s: going on beyond the budget"
UNCOUNTED = "the database does not tell which calls are free: Slurm is called without asking"


class Turn:
    """Takes each call from the budget; without a database that knows one, passes and counts nothing."""

    def __init__(self, budget: Budget) -> None:
        self._gate: Gate = budget

    def enter(self, urgency: Urgency) -> bool:
        until = time.monotonic() + WAIT_S
        waits = False
        while not self._enters(urgency):
            if not waits:
                _say(WAITS)
            if time.monotonic() > until:
                _say(GOES_ON)
                return True
            waits = True
            time.sleep(LOOK_S)
        return True

    def free(self, urgency: Urgency) -> int:
        return PER_MINUTE  # however many there are: it waits

    def note(self, command: str, outcome: str, seconds: float) -> None:
        self._gate.note(command, outcome, seconds)

    def spared(self, seconds: float = SPARE_S) -> bool:
        return False  # whoever asks wants to know whether it answers

    def heard(self, *, silence: bool) -> None:
        self._gate.heard(silence=silence)

    def _enters(self, urgency: Urgency) -> bool:
        try:
            return self._gate.enter(urgency)
        except SQLAlchemyError:  # no tables, or no database any more
            _say(UNCOUNTED)
            self._gate = OpenGate()
            return True


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)  # the checks go to standard output
