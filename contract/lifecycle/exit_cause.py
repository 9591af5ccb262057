"""Why a job ended."""

from enum import StrEnum


class ExitCause(StrEnum):
    """The causes, as far as they differ in what the scheduler does next."""

    DONE = "done"
    PREEMPTED = "preempted"  # the cluster gave the resources to another job, or the job was requeued
    NODE_FAILURE = "node_failure"  # a host failed, or did not boot
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    FAILURE = "failure"  # the run's own: an error, a signal
    CANCELLED = "cancelled"  # in the cluster, by hand
    LOST = "lost"  # the cluster no longer lists the job, so its exit is not known
