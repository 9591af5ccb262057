"""The spec of retries: how often a run is retried after each exit cause, and after which delay."""

from typing import Annotated

from pydantic import Field

from contract.lifecycle.exit_cause import ExitCause
from contract.spec.base import Spec

RetryCount = Annotated[int, Field(ge=0, le=1000)]


class RetryPolicy(Spec):
    """The maximum number of retries for each exit cause, and the delay before a retry."""

    preempted: RetryCount = 100
    """Most retries after a preemption."""
    node_failure: RetryCount = 5
    """Most retries after a failure of a node, or after a job of which the cluster lost track."""
    time_limit: RetryCount = 100
    """Most retries after the time limit. A run ends earlier if an attempt gets no further than the one before, if the
    remaining steps need more attempts than are left, or if two attempts in a row train for less than a tenth of the
    limit."""
    out_of_memory: RetryCount = 0
    """Most retries after a lack of memory."""
    failure: RetryCount = 0
    """Most retries after a failure of the run's own program."""
    backoff_s: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    """Delay before the first retry, in seconds; doubles with each retry for the same cause."""
    backoff_most_s: Annotated[float, Field(ge=0, le=86_400)] = 1800.0
    """Longest delay before a retry, in seconds."""

    def max_retries(self, cause: ExitCause) -> int:
        """Return the maximum number of retries after `cause`."""
        match cause:
            case ExitCause.PREEMPTED | ExitCause.LOST:
                return self.preempted if cause is ExitCause.PREEMPTED else self.node_failure
            case ExitCause.NODE_FAILURE:
                return self.node_failure
            case ExitCause.TIME_LIMIT:
                return self.time_limit
            case ExitCause.OUT_OF_MEMORY:
                return self.out_of_memory
            case ExitCause.FAILURE:
                return self.failure
            case ExitCause.DONE | ExitCause.CANCELLED | ExitCause.SHUTDOWN:
                return 0

    def delay_s(self, before: int) -> float:
        """Return the delay in seconds after `before` retries for the same cause."""
        return min(self.backoff_s * 2.0 ** min(before, 30), self.backoff_most_s)
