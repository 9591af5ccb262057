"""The doctor's rate limit: wait for a free call of the service's shared rate limit, and report the wait."""

import sys
import time

from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.rate_limit import BACKOFF_S, CALLS_PER_MINUTE, Priority, RateLimit, UnlimitedRate
from scheduler.clusters.shared_rate_limit import SharedRateLimit

WAIT_S, POLL_INTERVAL_S = 90.0, 0.5  # a person waits for the result
WAITING = f"waiting for the rate limit of {CALLS_PER_MINUTE} Slurm calls per minute ..."
WAIT_ENDED = f"no Slurm call was free within {WAIT_S:g} s"
NOT_COUNTED = "the database does not answer: continuing without a rate limit of Slurm calls"


class WaitingRateLimit:
    """Wait for the shared rate limit before each call; without a database, allow every call and count none."""

    def __init__(self, budget: SharedRateLimit) -> None:
        self._rate_limit: RateLimit = budget

    def acquire(self, priority: Priority) -> bool:
        """Wait until a call is allowed; return False if there is none within WAIT_S seconds."""
        until = time.monotonic() + WAIT_S
        has_reported = False
        while not self._try_enter(priority):
            if not has_reported:
                _print_to_stderr(WAITING)
            if time.monotonic() > until:
                _print_to_stderr(WAIT_ENDED)
                return False
            has_reported = True
            time.sleep(POLL_INTERVAL_S)
        return True

    def count_free(self, priority: Priority) -> int:
        """Return the full limit, because `enter` waits."""
        return CALLS_PER_MINUTE

    def count_shared(self) -> int:
        return CALLS_PER_MINUTE

    def record(self, command: str, outcome: str, seconds: float) -> None:
        self._rate_limit.record(command, outcome, seconds)

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        return False  # the doctor tests whether Slurm answers

    def record_answer(self, *, no_answer: bool) -> None:
        self._rate_limit.record_answer(no_answer=no_answer)

    def has_host_fault(self) -> bool:
        return False

    def record_host_fault(self) -> None:
        """Store nothing: the doctor reports the fault, and the workers of this host find it by themselves."""

    def _try_enter(self, priority: Priority) -> bool:
        try:
            return self._rate_limit.acquire(priority)
        except SQLAlchemyError:  # the tables are missing, or the database has stopped
            _print_to_stderr(NOT_COUNTED)
            self._rate_limit = UnlimitedRate()
            return True


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # standard output is for the results
