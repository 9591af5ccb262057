"""The places of a queue's pending jobs, partition by partition, in the order of Slurm's priorities."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from contract.api.cluster_report import QueuedJob, QueuePlace


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
    for partition, jobs in waiting.items():
        ordered = sorted(jobs, key=lambda job: -(job.priority or 0))
        place, pending = 1, sum(job.tasks for job in jobs)
        for job in ordered:
            best = places.get(job.job_id)
            if best is None or place < best.place:
                places[job.job_id] = QueuePlace(partition=partition, place=place, pending=pending)
            place += job.tasks
    return places
