"""Rate limit of a cluster's commands: the calls that it allows a minute, and which calls come first.

Each call has a priority, and each priority its slots of the minute: those of its own first, then those that it shares.
"""

from enum import Enum
from typing import Protocol

CALLS_PER_MINUTE = 12  # to one cluster, however many runs are live and however many workers call it
POLL_APART_S = 20.0  # three slots a minute are the polls' own, so a poll is always allowed so long after the last one
# so long after a controller gave no answer only polls call it, and nothing is submitted: the calls are needed
# afterwards
BACKOFF_S, SUBMISSION_BACKOFF_S = 12.0, 30.0
RESERVED_FOR_FOLLOW_UP = 2  # slots that an early poll leaves: follow-up calls need them


class Priority(Enum):
    """The purpose of a call."""

    SUBMIT = "submit"  # or cancel: four of these calls a minute are always possible
    POLL = "poll"  # the status of all jobs: always possible every 20 s, more often while other calls leave slots
    FIND = "find"  # jobs whose submission was not confirmed; submissions and reports come behind them
    FOLLOW_UP = "follow_up"  # what a poll left open: one such call a minute is always possible
    REPORT = "report"  # the cluster's nodes and queue, for people


SLOTS: dict[Priority, tuple[int, ...]] = {
    Priority.SUBMIT: (11, 10, 9, 8, 7, 6),
    Priority.POLL: (4, 3, 2),
    Priority.FIND: (11, 10, 9, 8, 7, 6, 1, 0),
    Priority.FOLLOW_UP: (5, 1, 0, 7, 6),
    Priority.REPORT: (0, 1),
}


class RateLimit(Protocol):
    def acquire(self, priority: Priority) -> bool:
        """Reserve one call; return False if the minute's calls are used up."""
        ...

    def count_free(self, priority: Priority) -> int:
        """Return how many calls `acquire` would allow now."""
        ...

    def record(self, command: str, outcome: str, seconds: float) -> None:
        """Count a call that was made: its command, "ok", "failed" or "timeout", and how long it took."""
        ...

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        """Return whether the controller gave no answer to its last call, less than `seconds` ago."""
        ...

    def record_answer(self, *, no_answer: bool) -> None:
        """Store whether the controller answered the call that was just made."""
        ...


class UnlimitedRate:
    """Allow every call and count none: for a dry run, which calls no cluster."""

    def acquire(self, priority: Priority) -> bool:
        return True

    def count_free(self, priority: Priority) -> int:
        return CALLS_PER_MINUTE

    def record(self, command: str, outcome: str, seconds: float) -> None:
        pass

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        return False

    def record_answer(self, *, no_answer: bool) -> None:
        pass
