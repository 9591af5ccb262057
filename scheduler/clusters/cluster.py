"""What the scheduler asks of whatever runs its jobs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from contract.api.cluster_report import ClusterReport
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.lifecycle.pending_reason import Waits
from contract.spec.retry import Cause
from contract.spec.run import RunSpec

OURS = "BIGBATCH_"  # variables of the service, some of which are secrets
FOR_RANKS = ("BIGBATCH_CACHE",)  # what a job gets of them


def goes_with_a_job(variable: str) -> bool:
    """Whether a variable of the service's environment is handed on to its jobs."""
    return not variable.startswith(OURS) or variable in FOR_RANKS


class Job(NamedTuple):
    """One attempt at one run, as a cluster gets it."""

    name: str  # says which run and which attempt, so that the cluster can be asked by it
    folder: RunFolder
    attempt: int
    spec: RunSpec
    excluded: Sequence[str] = ()  # hosts that failed under this run


class Array(NamedTuple):
    """Many jobs in one submission, all asking for the same; task by task, each with its run's folder, or several."""

    name: str
    folder: ArrayFolder
    attempt: int
    spec: RunSpec  # of any of them
    tasks: Sequence[int]
    parallel: int | None = None  # that may run at once
    excluded: Sequence[str] = ()
    pack: int | None = None  # so many runs share each task's job; none: each task is one run


class Held(NamedTuple):
    """A job that a cluster has, or had: ids are given again, names are not."""

    id: str
    name: str


class Alive(NamedTuple):
    """The job waits or runs."""

    waits_for: str | None = None
    kind: Waits | None = None


class Gone(NamedTuple):
    """The job has ended, in the cluster's words; unless `sure`, it is only that nobody knows it any more."""

    reason: str
    cause: Cause = Cause.FAILURE
    sure: bool = True
    hosts: tuple[str, ...] = ()  # those that it had, where one of them has failed


class Unknown(NamedTuple):
    """The cluster gave no answer for this job. It means nothing, least of all death."""

    why: str


Answer = Alive | Gone | Unknown


class Limits(NamedTuple):
    """How much a cluster takes."""

    tasks: int = 1  # in one submission
    jobs: int | None = None  # of ours at once, waiting ones included; None: no limit is known
    remembers_s: float | None = None  # for how long it knows a job that has ended; None: for ever, or nobody knows


class RefusedError(Exception):
    """The cluster will not take the job; the message is in its own words."""


class FullError(RefusedError):
    """The cluster takes no more jobs of ours for now."""


class TooManyError(FullError):
    """It was too many at once: fewer may be taken."""


class DoubtError(Exception):
    """Nobody can say whether the cluster took the job, or what it has: ask again later."""


class BusyError(DoubtError):
    """The cluster was not called at all, because it has been called often enough: nothing was taken."""


class SparedError(BusyError):
    """The cluster was not called, because it kept silent a moment ago and is left alone: nothing was taken."""


class Cluster(Protocol):
    @property
    def is_here(self) -> bool:
        """Whether this process itself carries its jobs, and can say at once and at no cost how they are."""
        ...

    def limits(self) -> Limits:
        """Say how much may be submitted; raise DoubtError when that is not known."""
        ...

    def may_submit(self, *, besides: int = 0) -> bool:
        """Whether a submission would be made now, besides so many more; False when it would have to wait."""
        ...

    def submit(self, job: Job | Array) -> str:
        """Queue it and return its id; raise RefusedError, BusyError, or DoubtError when the outcome is not known."""
        ...

    def ask(self, jobs: Sequence[Held]) -> Mapping[Held, Answer]:
        """Say of every job whether it is alive; raise BusyError when it has been asked often enough."""
        ...

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        """Return the ids of the jobs of these names, None where there surely is none, nothing where nobody knows yet.

        Raise DoubtError where that is so of all.
        """
        ...

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> Sequence[Held]:
        """End the jobs, with `force` at once; return those that the cluster was told of.

        The others it does not list: they have ended, or its answer left them out. An id may have been given to another
        job meanwhile: that one is left alone. Raise DoubtError when nobody can say whether it was told.
        """
        ...

    def report(self, *, urgent: bool = False) -> ClusterReport:
        """Say what the cluster is and does; raise DoubtError when it does not answer.

        BusyError when it has been asked often enough for people to wait; `urgent` when a run depends on it.
        """
        ...

    def script(self, job: Job | Array) -> str:
        """Return the exact text that would start the job."""
        ...
