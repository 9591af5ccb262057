"""Rate limit of a cluster's commands: the calls that it allows a minute, and which kinds of calls may use which.

Each kind has slots of its own, because polls and reports could use every call; some are shared, and half of all are for
submissions (docs/decisions/0025-reserves-of-calls.md).
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Protocol

CALLS_PER_MINUTE = 32  # to one cluster, however many runs are live and however many workers call it
POLL_APART_S = 20.0  # three slots a minute are the polls' own, so a poll is always allowed so long after the last one
# after a controller gave no answer polls alone call it, after the first time searches and follow-up calls too, and
# after the second time all: the calls are needed when the controller is back
BACKOFF_S, LONG_BACKOFF_S = 18.0, 30.0
HOST_FAULT_S = 30.0  # without calls of a worker whose host cannot authenticate itself: other workers need the calls


class Priority(Enum):
    """The kind of a call."""

    SUBMIT = "submit"  # an array
    SUBMIT_ONE = "submit_one"  # a job of its own: a person often waits for it
    CANCEL = "cancel"
    POLL = "poll"  # the status of all jobs: always possible every 20 s, more often while other calls leave slots
    FIND = "find"  # jobs whose submission was not confirmed
    FOLLOW_UP = "follow_up"  # what a poll left open
    REPORT = "report"  # the cluster's nodes and queue, for people
    PREDICT = "predict"  # when a draft's job would start, for people

    @property
    def backoff_s(self) -> float:
        """Return for how long no call of this kind is made after the controller gave no answer."""
        if self is Priority.POLL:
            return 0.0
        return BACKOFF_S if self in (Priority.FIND, Priority.FOLLOW_UP) else LONG_BACKOFF_S


class Slots(NamedTuple):
    """Slots of the minute, and when they may be used."""

    slots: tuple[int, ...]
    apart_s: float = 0.0  # from one use of these slots to the next
    rest_s: float = 60.0  # from one use of a slot to its next use


SHARED = (9, 10, 11)
SUBMISSIONS = tuple(range(12, 24))  # each level of a workflow needs one
STOPS = (6, *range(24, 30))  # a stop takes two calls, and comes before everything else
# polls and follow-up calls could use each shared slot as soon as it is free; so they leave it free for half a minute
YIELDED = Slots(SHARED, rest_s=90.0)
# slots that no other kind may use; but arrays have one together with follow-up calls, and their other one together with
# searches, which use it when no shared one is free
RESERVES: Mapping[Priority, Slots] = MappingProxyType(
    {
        Priority.POLL: Slots((0, 1, 2), apart_s=POLL_APART_S),
        Priority.REPORT: Slots((3, 4)),
        # sacct and scontrol: without the second one, a job that a controller has lost stays in doubt for ever
        Priority.FOLLOW_UP: Slots((5, 30, 31)),
        Priority.CANCEL: Slots(STOPS),
        Priority.SUBMIT_ONE: Slots((7,)),
        Priority.SUBMIT: Slots((8, 5)),
    }
)
# further slots of each kind; a poll comes early, from YIELDED, only while nothing else calls the cluster
FURTHER: Mapping[Priority, Slots] = MappingProxyType(
    {
        Priority.FOLLOW_UP: YIELDED,
        Priority.PREDICT: YIELDED,
        Priority.SUBMIT: Slots((*SUBMISSIONS, *SHARED[:2])),  # a sweep of many arrays leaves its stop a call
        Priority.SUBMIT_ONE: Slots((*SUBMISSIONS, *SHARED)),
        Priority.FIND: Slots((*SHARED, 8)),
        Priority.CANCEL: Slots((*SHARED, *SUBMISSIONS)),
    }
)


SINGLE_SUBMISSIONS = sum(len(slots[Priority.SUBMIT_ONE].slots) for slots in (RESERVES, FURTHER))  # a minute, at most


class RateLimit(Protocol):
    def acquire(self, priority: Priority) -> bool:
        """Reserve one call; return False if the minute's calls are used up."""
        ...

    def count_free(self, priority: Priority) -> int:
        """Return how many calls `acquire` would allow now."""
        ...

    def count_shared(self) -> int:
        """Return how many of the calls that are allowed now are no kind's own."""
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

    def has_host_fault(self) -> bool:
        """Return whether this host could not authenticate itself to the controller, less than HOST_FAULT_S ago."""
        ...

    def record_host_fault(self) -> None:
        """Remember, in this process alone, that this host could not authenticate itself."""
        ...


class UnlimitedRate:
    """Allow every call and count none: for a dry run, which calls no cluster."""

    def acquire(self, priority: Priority) -> bool:
        return True

    def count_free(self, priority: Priority) -> int:
        return CALLS_PER_MINUTE

    def count_shared(self) -> int:
        return CALLS_PER_MINUTE

    def record(self, command: str, outcome: str, seconds: float) -> None:
        pass

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        return False

    def record_answer(self, *, no_answer: bool) -> None:
        pass

    def has_host_fault(self) -> bool:
        return False

    def record_host_fault(self) -> None:
        pass
