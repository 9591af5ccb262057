"""Why a job ended."""

from enum import StrEnum


class ExitCause(StrEnum):
    """The causes of an attempt's end, as far as they differ in what the scheduler does next.

    done: the run took all its steps. preempted: the cluster gave the resources to another job, or requeued the job.
    node_failure: a host failed, or did not boot. time_limit, out_of_memory: the job reached a limit. failure: the run's
    own error, or a signal. cancelled: somebody ended the job in the cluster. lost: the cluster no longer lists the job,
    so its exit is not known. shutdown: the service on this machine was shut down, and goes on with the run later.
    """

    DONE = "done"
    PREEMPTED = "preempted"
    NODE_FAILURE = "node_failure"
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    LOST = "lost"
    SHUTDOWN = "shutdown"
