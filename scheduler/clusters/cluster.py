"""What the scheduler asks of whatever runs its jobs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from contract.cluster import ClusterReport
from contract.folder import RunFolder
from contract.spec import RunSpec

OURS = "BIGBATCH_"  # variables of the service; a job gets none of them, for some are secrets


class Job(NamedTuple):
    """One attempt at one run, as a cluster gets it."""

    name: str  # says which run and which attempt, so that the cluster can be asked by it
    folder: RunFolder
    attempt: int
    spec: RunSpec


class Alive(NamedTuple):
    """The job waits or runs."""

    waits_for: str | None = None


class Gone(NamedTuple):
    """The job has ended, in the cluster's words."""

    reason: str


class Unknown(NamedTuple):
    """The cluster gave no answer for this job. It means nothing, least of all death."""

    why: str


Answer = Alive | Gone | Unknown


class RefusedError(Exception):
    """The cluster will not take the job; the message is in its own words."""


class DoubtError(Exception):
    """Nobody can say whether the cluster took the job, or what it has: ask again later."""


class Cluster(Protocol):
    def submit(self, job: Job) -> str:
        """Queue the job and return its id; raise RefusedError, or DoubtError when the outcome is not known."""
        ...

    def ask(self, job_ids: Sequence[str]) -> Mapping[str, Answer]:
        """Say of every job whether it is alive; the cluster is asked once for all of them."""
        ...

    def find(self, job: Job) -> str | None:
        """Return the id of the job of that name, None when there surely is none; raise DoubtError otherwise."""
        ...

    def cancel(self, job_ids: Sequence[str], *, force: bool = False) -> None:
        """End the jobs, with `force` at once; silent about those that have ended already."""
        ...

    def report(self) -> ClusterReport:
        """Say what the cluster is and does; raise DoubtError when it does not answer."""
        ...

    def script(self, job: Job) -> str:
        """Return the exact text that would start the job."""
        ...
