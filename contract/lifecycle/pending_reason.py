"""Why a job waits in a cluster's queue."""

from enum import StrEnum


class Waits(StrEnum):
    """The kinds of reasons, as far as they differ in what a user can do about them."""

    RESOURCES = "resources"  # for others to end
    QUOTA = "quota"  # for the user's own jobs to end, or for a higher limit
    HELD = "held"  # for somebody to release it
    DEPENDENCY = "dependency"  # for another job, or a time
    RESERVATION = "reservation"
    OTHER = "other"
