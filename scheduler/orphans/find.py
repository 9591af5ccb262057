"""Search for orphans: by the names of jobs and run folders, which begin with the identity of the service.

Another service of the same account, or with the same folder of runs, has another identity.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport, QueuedJob
from contract.folder.service_records import JOB_NAME, FoundFolder, is_key_of, run_folders
from scheduler.clusters.cluster import NoAnswerError
from scheduler.context import Context
from store import clusters, orphans, service
from store.session import snapshot

log = logging.getLogger(__name__)


class QueuedOrphan(NamedTuple):
    """A job that a cluster has."""

    cluster: str
    name: str  # of the submission
    job_id: str


class Orphan(NamedTuple):
    """A run that the database does not know, by its folder or its jobs; or jobs of later attempts than it knows."""

    key: str
    folder: FoundFolder | None
    jobs: tuple[QueuedOrphan, ...] = ()

    def describe(self) -> str:
        """Return what there is, in words."""
        jobs = ", ".join(f"{job.cluster} job {job.job_id} ({job.name})" for job in self.jobs)
        if self.folder is None:
            return f"{jobs} belongs to no attempt of a run in the database"
        folder = f"run folder {self.folder.path.name} belongs to no run in the database"
        return f"{folder}; {jobs} goes on" if jobs else folder


def find_orphans(engine: Engine, root: Path, queues: Mapping[str, Sequence[QueuedJob]]) -> list[Orphan]:
    """Return what belongs to no run, among the run folders below `root` and the jobs that each cluster has."""
    with snapshot(engine) as db:
        identity = service.identity(db)
    folders = {folder.key: folder for folder in run_folders(root, identity)}
    queued = _by_key(queues, identity)
    with snapshot(engine) as db:
        attempts = orphans.attempts_of(db, {*folders, *queued})
        owned = orphans.owned_names(db, {job.name for jobs in queued.values() for job in jobs})
    unknown = {key: folder for key, folder in folders.items() if key not in attempts}
    later = {key: _later(jobs, attempts.get(key, 0), owned) for key, jobs in queued.items()}
    keys = sorted({*unknown, *(key for key, jobs in later.items() if jobs)})
    return [Orphan(key, unknown.get(key), tuple(later.get(key, ()))) for key in keys]


def stored_queues(engine: Engine, since: datetime | None = None) -> dict[str, Sequence[QueuedJob]]:
    """Return the jobs of each cluster as its newest report has them, without a call of the cluster.

    `since` leaves out clusters that have not answered since then.
    """
    with snapshot(engine) as db:
        rows = [row for row in clusters.reports(db) if row.report is not None]
        if since is not None:
            rows = [row for row in rows if row.error is None and row.asked_at >= since]
    return {row.kind: ClusterReport.model_validate(row.report).queue for row in rows}


def asked_queues(context: Context) -> dict[str, Sequence[QueuedJob]]:
    """Ask each cluster for its jobs; one that does not answer has none here."""
    found: dict[str, Sequence[QueuedJob]] = {}
    for kind, cluster in context.clusters.items():
        try:
            found[kind] = cluster.report(urgent=True).queue
        except NoAnswerError as error:
            log.warning("whether %s has jobs that nobody owns is not known: %s", kind, error)
    return found


def _by_key(queues: Mapping[str, Sequence[QueuedJob]], identity: str) -> dict[str, list[QueuedOrphan]]:
    """Return the jobs of this service by the key of their first run."""
    found: dict[str, list[QueuedOrphan]] = defaultdict(list)
    for kind, queue in queues.items():
        for job in queue:
            match = JOB_NAME.fullmatch(job.name)
            if match and is_key_of(match[1], identity):
                found[match[1]].append(QueuedOrphan(kind, job.name, job.job_id))
    return found


def _later(jobs: Iterable[QueuedOrphan], known: int, owned: Collection[str]) -> list[QueuedOrphan]:
    """Return the jobs of attempts after the known one that no run has.

    The name is that of the first run of an array or a pack, whose row may be gone while the others go on.
    """
    later = (job for job in jobs if (match := JOB_NAME.fullmatch(job.name)) and int(match[2]) > known)
    return [job for job in later if job.name not in owned]
