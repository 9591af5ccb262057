"""The interface to a cluster, which runs the jobs: this machine, or a Slurm."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from contract.api.cluster_report import ClusterReport
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import CAUSE_OF, EndKind, JobEnd
from contract.lifecycle.pending_reason import Pending
from contract.settings import SLURM_TOKEN, setting_of
from contract.spec.any_run import AnyRun

SETTINGS_OF_JOBS = frozenset({"cache"})  # the other settings are the service's own, and some are secrets


def is_passed_to_jobs(variable: str) -> bool:
    """Return whether a variable of the service's environment is passed on to its jobs."""
    setting = setting_of(variable)
    return variable != SLURM_TOKEN if setting is None else setting in SETTINGS_OF_JOBS


class JobRequest(NamedTuple):
    """One attempt of one run, as it is submitted."""

    name: str  # made from run and attempt, so that the cluster can be asked for the job by its name
    folder: RunFolder
    attempt: int
    spec: AnyRun
    excluded: Sequence[str] = ()  # hosts on which the run failed
    comment: str = ""  # for people who read the cluster's queue; the name alone identifies the job


class ArrayRequest(NamedTuple):
    """Many jobs in one submission, all with the same request; each array task carries one run, or several."""

    name: str
    folder: ArrayFolder
    attempt: int
    spec: AnyRun  # of any of the runs
    tasks: Sequence[int]
    parallel: int | None = None  # tasks that may run at once
    excluded: Sequence[str] = ()
    pack: int | None = None  # runs that share each task's job; None: each task is one run
    comment: str = ""  # as of a job


class JobHandle(NamedTuple):
    """A job that a cluster has or had: the cluster may reuse ids, names are unique."""

    id: str  # empty where only the name is known; then `cancel` cancels the job of that name
    name: str


class Alive(NamedTuple):
    """The job is pending or running."""

    pending: Pending | None = None


class Gone(NamedTuple):
    """The job has ended. Unless `is_certain`, the cluster only does not list it."""

    end: JobEnd
    cause: ExitCause
    is_certain: bool = True
    hosts: tuple[str, ...] = ()  # of the job, where one of them failed or may have refused the job
    started_at: datetime | None = None  # of a job that was cancelled or failed, where the cluster says when it started


class Unknown(NamedTuple):
    """The cluster gave no answer for this job, so nothing is known; above all not that the job ended."""

    message: str


JobStatus = Alive | Gone | Unknown


def gone(kind: EndKind, detail: str | None = None, *, exit_code: int | None = None, is_certain: bool = True) -> Gone:
    """Return the end of a job with the exit cause of its kind."""
    return Gone(JobEnd(kind=kind, detail=detail or None, exit_code=exit_code), CAUSE_OF[kind], is_certain)


class Limits(NamedTuple):
    """How much a cluster accepts."""

    tasks: int = 1  # in one submission
    jobs: int | None = None  # of this user at once, pending ones included; None: no limit is known
    retention_s: float | None = None  # for how long the cluster lists an ended job; None: for ever, or not known


class RefusedError(Exception):
    """The cluster does not accept the job; the message is the cluster's own."""


class QueueFullError(RefusedError):
    """The cluster accepts no job of this kind for now."""


class SubmitLimitError(QueueFullError):
    """The cluster admits no such number of jobs at once; other jobs of the user may count as well."""


class ArrayTooLargeError(QueueFullError):
    """The array has too many tasks: the cluster may accept fewer."""


class ScriptNotWrittenError(Exception):
    """The script could not be written for now, so the cluster was not called."""


class NoAnswerError(Exception):
    """The cluster did not answer, so the outcome of a call, or the state of its jobs, is not known: ask again later."""


class UnreadableReportError(NoAnswerError):
    """The cluster answered, and the answer is no report of a cluster."""


class UnknownErrorMessage(NoAnswerError):
    """The cluster answered with an error message that the service does not know, so it may have the job."""


class RateLimitedError(NoAnswerError):
    """The cluster was not called because the rate limit was reached: nothing was submitted."""


class BackingOffError(RateLimitedError):
    """The cluster was not called because it gave no answer a moment ago: nothing was submitted."""


class HostFaultError(RateLimitedError):
    """The cluster was not called because this host could not authenticate itself a moment ago; other hosts may."""


class Cluster(Protocol):
    @property
    def is_local(self) -> bool:
        """Return whether this process itself starts the jobs, and so knows their status at once and at no cost."""
        ...

    def limits(self) -> Limits:
        """Return how much may be submitted; raise NoAnswerError if that is not known."""
        ...

    def may_submit(self, *, single: bool = False, besides: int = 0) -> bool:
        """Return whether an array, or with `single` a single job, would be submitted now, besides so many others."""
        ...

    def submit(self, job: JobRequest | ArrayRequest) -> str:
        """Submit and return the id; raise RefusedError, RateLimitedError, or NoAnswerError (the outcome is unknown)."""
        ...

    def status(self, jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        """Return the status of every job; raise RateLimitedError if the rate limit is reached."""
        ...

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        """Map each name to its id, or to None if no such job exists; omit names whose job is unknown.

        Raise NoAnswerError if all are unknown.
        """
        ...

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        """End the jobs, with `force` at once; return the jobs that the cluster was asked to end.

        The cluster does not list the others: they have ended, or its answer omitted them. A job of equal id and another
        name stays untouched. Raise NoAnswerError if it is not known whether the request arrived.
        """
        ...

    def report(self, *, urgent: bool = False) -> ClusterReport:
        """Return the cluster's partitions, nodes and queue; raise NoAnswerError if it does not answer.

        Raise RateLimitedError if the rate limit is reached; `urgent` reports use the slots of follow-up calls.
        """
        ...

    def script(self, job: JobRequest | ArrayRequest) -> str:
        """Return the exact text that would start the job."""
        ...
