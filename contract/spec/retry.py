"""Why a job ends before its run is done, and how often the run is then tried again."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from contract.spec.base import Spec


class Cause(StrEnum):
    """What ended a job."""

    DONE = "done"
    PREEMPTED = "preempted"  # another job took its place, or somebody requeued it
    NODE_FAILURE = "node_failure"  # a host failed, or did not boot
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    FAILURE = "failure"  # the run's own: an error, a signal
    CANCELLED = "cancelled"  # in the cluster, by hand
    LOST = "lost"  # the cluster knows it no more, and nobody can say how it ended


Times = Annotated[int, Field(ge=0, le=1000)]


class Retries(Spec):
    """How many times a run is tried again after each cause, and how long it waits before."""

    preempted: Times = 100
    node_failure: Times = 5
    time_limit: Times = 100  # counted only while each attempt gets further than the one before
    out_of_memory: Times = 0
    failure: Times = 0
    backoff_s: Annotated[float, Field(ge=0, le=86_400)] = 30.0  # before the first; doubles with each of one cause
    backoff_most_s: Annotated[float, Field(ge=0, le=86_400)] = 1800.0

    def times(self, cause: Cause) -> int:
        """How often a run is tried again after `cause`."""
        match cause:
            case Cause.PREEMPTED | Cause.LOST:
                return self.preempted if cause is Cause.PREEMPTED else self.node_failure
            case Cause.NODE_FAILURE:
                return self.node_failure
            case Cause.TIME_LIMIT:
                return self.time_limit
            case Cause.OUT_OF_MEMORY:
                return self.out_of_memory
            case Cause.FAILURE:
                return self.failure
            case Cause.DONE | Cause.CANCELLED:
                return 0

    def wait_s(self, before: int) -> float:
        """How long a run waits that has been tried again `before` times for the same cause."""
        return min(self.backoff_s * 2.0 ** min(before, 30), self.backoff_most_s)
