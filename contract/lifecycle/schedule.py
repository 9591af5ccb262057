"""What a schedule does with starts that were missed or that overlap, and how a start ended."""

from enum import StrEnum


class Missed(StrEnum):
    """What happens after starts were missed, because the service was down or the schedule was paused.

    run_once: one start makes up for all. skip: none does. run_all: each is made up for, oldest first.
    """

    RUN_ONCE = "run_once"
    SKIP = "skip"
    RUN_ALL = "run_all"


class Overlap(StrEnum):
    """What happens while the last experiment has not ended. skip: nothing starts. queue: the start waits. allow: both
    go on side by side."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class StartStatus(StrEnum):
    """How a start ended.

    created: an experiment was made. waiting: for the end of the last one. skipped: by the rules of the schedule.
    failed: no experiment could be made.
    """

    CREATED = "created"
    WAITING = "waiting"
    SKIPPED = "skipped"
    FAILED = "failed"
