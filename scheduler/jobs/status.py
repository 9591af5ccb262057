"""Status of the jobs of live runs: asked at once on this machine, as the last poll stored it elsewhere."""

from collections.abc import Sequence

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import Pending
from scheduler.clusters.cluster import Alive, Gone, JobStatus, Unknown
from scheduler.context import Context, handle_of
from store.runs import LiveRun
from store.tables.runs import Job


def status_of_live(context: Context, kind: str, live: Sequence[LiveRun]) -> dict[int, JobStatus]:
    """Return the status of each run's job, by the run's id."""
    cluster = context.clusters.get(kind)
    if not cluster:
        return dict.fromkeys((run.id for run in live), Unknown("this service has no such cluster now"))
    if not cluster.is_local:
        return {run.id: _stored(run.observed_end, run.observed_cause, run) for run in live}
    answers = cluster.status([handle_of(run) for run in live])
    return {run.id: answers[handle_of(run)] for run in live}


def status_of_jobs(context: Context, kind: str, jobs: Sequence[Job]) -> dict[int, JobStatus]:
    """Return the status of each job, by its id; the cluster must be one of this service's."""
    cluster = context.clusters[kind]
    if not cluster.is_local:
        return {job.id: _stored(job.observed_end, job.observed_cause, job) for job in jobs}
    answers = cluster.status([handle_of(job) for job in jobs])
    return {job.id: answers[handle_of(job)] for job in jobs}


def _stored(end: JobEnd | None, cause: ExitCause | None, job: LiveRun | Job) -> JobStatus:
    if end is not None:
        return Gone(end, cause or ExitCause.LOST)
    if job.unknown_since:
        return Unknown("its cluster does not answer")
    return Alive(Pending(job.pending_reason) if job.pending_reason else None)
