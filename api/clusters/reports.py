"""GET /clusters: the newest report of each cluster, with this service's own jobs marked in its queue."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fastapi import APIRouter
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import UNCHANGED, problems
from api.sentences.pending import pending_sentence
from contract.api.cluster_report import QueuedJob, QueuePlace
from contract.api.service import ClusterView
from contract.lifecycle.pending_reason import Pending
from store import clusters, jobs

router = APIRouter(tags=["service"])
NAME_PREFIX = "bigbatch-"  # of every submission (scheduler/context.py)


@router.get("/clusters", responses=UNCHANGED | problems(503))
def list_clusters(db: Reading) -> list[ClusterView]:
    """Return the newest report of every cluster: partitions, nodes and queue."""
    views = [ClusterView.model_validate(row, from_attributes=True) for row in clusters.reports(db)]
    return [_with_queue(db, view) for view in views]


def _with_queue(db: Session, view: ClusterView) -> ClusterView:
    """Return the report with the reasons of its queue as sentences, and this service's own jobs with their places."""
    if view.report is None:
        return view
    queue = [_with_sentence(job) for job in _with_own_jobs(db, view.report.queue)]
    places = places_of(queue)
    queue = [job.model_copy(update={"place": places.get(job.job_id)}) if job.is_own else job for job in queue]
    return view.model_copy(update={"report": view.report.model_copy(update={"queue": queue})})


def _with_own_jobs(db: Session, queue: Sequence[QueuedJob]) -> list[QueuedJob]:
    own = jobs.runs_by_name(db, {job.name for job in queue if job.name.startswith(NAME_PREFIX)})
    tasks = [job for job in queue if job.name in own and own[job.name] is None]
    by_task = jobs.runs_by_job(db, {job.name for job in tasks}, {job.job_id for job in tasks}) if tasks else {}
    return [
        job.model_copy(update={"is_own": True, "run_id": own[job.name] or by_task.get(job.job_id)})
        if job.name in own
        else job
        for job in queue
    ]


def _with_sentence(job: QueuedJob) -> QueuedJob:
    if job.pending_reason is None:
        return job
    sentence = pending_sentence(Pending(job.pending_reason, job.reason or None))
    return job.model_copy(update={"sentence": sentence})


def places_of(queue: Sequence[QueuedJob]) -> Mapping[str, QueuePlace]:
    """Return the place of each pending job by its id; none for jobs on hold, nor without priorities.

    Among equal priorities squeue's own order stands, which is that of the job ids.
    """
    waiting: dict[str, list[QueuedJob]] = defaultdict(list)
    for job in queue:
        if job.pending_reason is not None and job.priority:  # Slurm gives a job on hold the priority 0
            for partition in job.partition.split(","):
                waiting[partition].append(job)
    places: dict[str, QueuePlace] = {}
    for partition, own in waiting.items():
        ordered = sorted(own, key=lambda job: -(job.priority or 0))
        place, pending = 1, sum(job.tasks for job in own)
        for job in ordered:
            best = places.get(job.job_id)
            if best is None or place < best.place:
                places[job.job_id] = QueuePlace(partition=partition, place=place, pending=pending)
            place += job.tasks
    return places
