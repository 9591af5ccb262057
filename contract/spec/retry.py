"""The spec of retries: how often a run is retried after each exit cause, and after which delay."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import Field

from contract.lifecycle.exit_cause import ExitCause
from contract.spec.base import Spec
from contract.spec.resources import Resources
from contract.validation import ValidationIssue

RetryCount = Annotated[int, Field(ge=0, le=1000)]
Factor = Annotated[str, Field(pattern=r"^x(?:[1-9][0-9]?|1\.[0-9]{1,3}|[2-9]\.[0-9]{1,3})$", examples=["x2"])]


class Growth(NamedTuple):
    """The factors by which the next attempt's resources grow."""

    memory: float = 1.0
    minutes: float = 1.0


class GrowingRetry(Spec):
    """A number of retries, and what the next attempt gets more of."""

    times: RetryCount = Field(examples=[2])
    """Most retries after this cause."""
    memory: Factor | None = Field(default=None, examples=["x2"])
    """Factor of `resources.memory_gb` at the next attempt, such as x2; null: no change."""
    minutes: Factor | None = Field(default=None, examples=["x1.5"])
    """Factor of `resources.minutes` at the next attempt, such as x1.5; null: no change."""

    @property
    def growth(self) -> Growth:
        """The factors as numbers."""
        return Growth(*(float(factor[1:]) if factor else 1.0 for factor in (self.memory, self.minutes)))


class RetryPolicy(Spec):
    """The maximum number of retries for each exit cause, and the delay before a retry."""

    preempted: RetryCount = 100
    """Most retries after a preemption."""
    node_failure: RetryCount = 5
    """Most retries after a failure of a node, or after a job of which the cluster lost track."""
    time_limit: RetryCount | GrowingRetry = 100
    """Most retries after the time limit. A run ends earlier if an attempt gets no further than the one before, if the
    remaining steps need more attempts than are left, or if two attempts in a row train for less than a tenth of the
    limit; with `{times: 3, minutes: x2}` the limit of the next attempt grows instead."""
    out_of_memory: RetryCount | GrowingRetry = 0
    """Most retries after a lack of memory; with `{times: 2, memory: x2}` the next attempt gets more memory."""
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
                return _times(self.time_limit)
            case ExitCause.OUT_OF_MEMORY:
                return _times(self.out_of_memory)
            case ExitCause.FAILURE:
                return self.failure
            case ExitCause.DONE | ExitCause.CANCELLED | ExitCause.SHUTDOWN:
                return 0

    def growth(self, cause: ExitCause) -> Growth:
        """Return the factors by which the resources grow after `cause`."""
        asked = {ExitCause.TIME_LIMIT: self.time_limit, ExitCause.OUT_OF_MEMORY: self.out_of_memory}.get(cause, 0)
        return asked.growth if isinstance(asked, GrowingRetry) else Growth()

    def delay_s(self, before: int) -> float:
        """Return the delay in seconds after `before` retries for the same cause."""
        return min(self.backoff_s * 2.0 ** min(before, 30), self.backoff_most_s)


def check_growth(policy: RetryPolicy, need: Resources) -> Iterator[ValidationIssue]:
    """Yield an issue for each growth of resources that the run does not state."""
    for name, cause in (("time_limit", ExitCause.TIME_LIMIT), ("out_of_memory", ExitCause.OUT_OF_MEMORY)):
        growth = policy.growth(cause)
        if growth == Growth():
            continue
        if need.kind == "local":
            message = "runs of one machine have no limits that could grow; this needs Slurm"
            yield ValidationIssue(path=f"retries.{name}", message=message)
        elif growth.memory > 1 and need.memory_gb is None:
            message = "a multiple of the cluster's default is not known: set resources.memory_gb"
            yield ValidationIssue(path=f"retries.{name}.memory", message=message)


def _times(retries: int | GrowingRetry) -> int:
    return retries.times if isinstance(retries, GrowingRetry) else retries
