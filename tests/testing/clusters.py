"""Fake clusters that a test controls, for faults that a real cluster does not have on demand."""

import threading
from collections.abc import Callable, Mapping, Sequence

from contract.api.cluster_report import ClusterReport
from scheduler.clusters.cluster import Alive, ArrayRequest, JobHandle, JobRequest, JobStatus, Limits, NoAnswerError

SLURM = {"kind": "slurm", "ranks_per_node": 2}
JOB = "job1"
Play = Callable[[str, str], None]


class Puppet:
    """A cluster without processes: accepts every job, and returns the status in `answers`."""

    def __init__(self) -> None:
        self.tasks = 1
        self._lock = threading.Lock()  # eight launchers may submit at once
        self.jobs: dict[str, JobRequest | ArrayRequest] = {}
        self.cancelled: list[tuple[str, bool]] = []
        self.answers: dict[str, JobStatus] = {}
        self.trouble: Exception | None = None  # raised after the job was accepted, as by an sbatch that timed out
        self.unlisted: set[str] = set()  # ids of jobs that `cancel` does not find

    is_local = True

    def limits(self) -> Limits:
        return Limits(self.tasks)

    def may_submit(self, *, single: bool = False, besides: int = 0) -> bool:
        return True

    def submit(self, job: JobRequest | ArrayRequest) -> str:
        with self._lock:
            job_id = f"job{len(self.jobs) + 1}"
            self.jobs[job_id] = job
        if self.trouble:
            raise self.trouble
        return job_id

    def status(self, jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        return {job: self.answers.get(job.id, Alive()) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        ids = {job.name: job_id for job_id, job in self.jobs.items()}
        return {name: ids.get(name) for name in names}

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        listed = [job for job in jobs if job.id not in self.unlisted]
        self.cancelled += [(job.id, force) for job in listed]
        return listed

    def report(self, *, urgent: bool = False) -> ClusterReport:
        raise NoAnswerError("no answer")

    def script(self, job: JobRequest | ArrayRequest) -> str:
        return job.name


class Far(Puppet):
    """A cluster that is not this machine, and takes arrays."""

    is_local = False

    def __init__(self) -> None:
        super().__init__()
        self.room: int | None = None

    def limits(self) -> Limits:
        return Limits(tasks=4, jobs=self.room)


def sizes(far: Far) -> list[int]:
    return [len(job.tasks) if isinstance(job, ArrayRequest) else 1 for job in far.jobs.values()]
