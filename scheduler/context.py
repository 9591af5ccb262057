"""The context of a worker: its database, clusters and run folders, and its memory between ticks."""

import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import SNAPSHOTS, Settings
from contract.snapshot.blob_store import BlobStore
from contract.spec.any_run import read_run
from scheduler.clusters.cluster import ArrayRequest, Cluster, JobHandle, JobRequest
from scheduler.clusters.local import Local
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.presence import find_absence
from store import clusters as store_clusters
from store.metrics.retention import Retention
from store.session import engine_for, snapshot
from store.tables import Job, Run


class HeartbeatSighting(NamedTuple):
    """A heartbeat's time stamp, since when this worker sees it, and whether the worker saw another one before."""

    stamp: float
    since: float  # time.monotonic
    has_changed: bool


@dataclass
class Memory:
    """What one worker remembers between ticks. All moments are of time.monotonic; losing them costs time alone."""

    open_submissions: dict[str, Iterator[float]] = field(default_factory=dict)  # by cluster: steps still to take
    heartbeats: dict[tuple[RunFolder, int], HeartbeatSighting] = field(default_factory=dict)
    cancel_paused_until: dict[str, float] = field(default_factory=dict)  # by cluster, after it gave no answer
    unlisted_until: dict[int, float] = field(default_factory=dict)  # by job: the cluster did not list it
    search_paused_until: dict[str, float] = field(default_factory=dict)  # by cluster, after it gave no answer
    search_begun: dict[str, float] = field(default_factory=dict)  # by cluster: a search waits for more names
    leases_seen: dict[tuple[int, datetime], float] = field(default_factory=dict)  # by job and renewal
    unsettled: dict[str, tuple[float, float]] = field(default_factory=dict)  # by name: paused until, and for how long
    moved_on_at: dict[str, float] = field(default_factory=dict)  # by tick that runs: its start, or its last progress
    success_stored_at: dict[str, float] = field(default_factory=dict)  # by tick
    garbage_removed_at: float = -math.inf  # of snapshots
    ingest_failures: dict[int, int] = field(default_factory=dict)  # by run: failed ingests in a row
    has_recovered: bool = False  # whether the first recover tick is over

    def note_progress(self, tick: str) -> None:
        """Show the watchdog that a tick which has much to do does not hang."""
        if tick in self.moved_on_at:
            self.moved_on_at[tick] = time.monotonic()


class _RunKey(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def key(self) -> str: ...


class _NamedJob(Protocol):
    @property
    def external_id(self) -> str | None: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Context:
    engine: Engine
    clusters: Mapping[str, Cluster]
    runs_folder: Path
    local_ranks: int  # that may run at once on this machine
    memory: Memory = field(default_factory=Memory, compare=False)
    retention: Retention = field(default_factory=Retention)
    snapshots_folder: Path | None = None  # None: below the run folders
    slurm_absence: str | None = None  # why Slurm's commands of this host are not used

    @classmethod
    def of(cls, settings: Settings) -> "Context":
        """Return the context that the settings describe; raise ValueError if they leave no cluster."""
        engine = engine_for(settings.database_url())
        has_commands = shutil.which("sbatch") is not None
        absence = _find_slurm_absence(engine) if settings.slurm is None and has_commands else None
        ranks = settings.local_ranks or psutil.cpu_count() or 1
        clusters: dict[str, Cluster] = {"local": Local(ranks)} if settings.local else {}
        if (has_commands if settings.slurm is None else settings.slurm) and absence is None:
            clusters["slurm"] = Slurm(settings.slurm_python, settings.slurm_setup, SharedRateLimit(engine, "slurm"))
        if not clusters:
            raise ValueError("BIGBATCH_LOCAL is false and there is no Slurm, so no run can start: set one of them")
        retention = Retention.of_days(settings.points_days, settings.history_days)
        return cls(
            engine,
            clusters,
            settings.runs_folder(),
            ranks,
            retention=retention,
            snapshots_folder=settings.snapshots_folder(),
            slurm_absence=absence,
        )

    @property
    def blob_store(self) -> BlobStore:
        """The store of code snapshots."""
        return BlobStore(self.snapshots_folder or self.runs_folder / SNAPSHOTS)

    def folder_of(self, run: _RunKey) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder.of(self.runs_folder, run.id, run.key)

    def request_of(self, run: Run, job: Job) -> JobRequest:
        """Return the request for one attempt of a run."""
        spec = read_run(run.spec)
        comment = _comment([run], job.attempt)
        return JobRequest(job.name, self.folder_of(run), job.attempt, spec, run.excluded, comment)

    def array_request_of(self, runs: Sequence[tuple[Run, Job]], *, parallel: int | None = None) -> ArrayRequest:
        """Return the request for the runs of one submission; `parallel` of them may run at once."""
        one, tasks = self.request_of(*runs[0]), sorted({job.array_task or 0 for _, job in runs})
        folder = ArrayFolder.of(self.runs_folder, one.name)
        members = [job.pack_member for _, job in runs if job.pack_member is not None]
        pack = max(members) + 1 if members else None
        at_once = parallel and parallel // (pack or 1)
        comment = _comment([run for run, _ in runs], one.attempt)
        return ArrayRequest(one.name, folder, one.attempt, one.spec, tasks, at_once, one.excluded, pack, comment)


def _find_slurm_absence(engine: Engine) -> str | None:
    """Return why Slurm's commands of this host are not used; None if they are: a cluster that was used stays."""
    if (absence := find_absence()) is None:
        return None
    try:
        with snapshot(engine) as db:
            is_in_use = store_clusters.is_in_use(db, "slurm")
    except SQLAlchemyError:  # the database is away, or has no tables yet: the ticks report it
        return None
    return None if is_in_use else f"{absence}; set SLURM_CONF, or BIGBATCH_SLURM=true, to use it"


def handle_of(job: _NamedJob) -> JobHandle:
    """Return the handle by which the job's cluster is asked about it."""
    return JobHandle(str(job.external_id), job.name)


def _comment(runs: Sequence[Run], attempt: int) -> str:
    """Return the experiments and runs of a submission; the attempt is the same for all of them."""
    experiments, ids = sorted({run.experiment_id for run in runs}), sorted(run.id for run in runs)
    of = (
        f"experiment {experiments[0]}"
        if len(experiments) == 1
        else f"experiments {experiments[0]} to {experiments[-1]}"
    )
    which = f"run {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs from {ids[0]} to {ids[-1]}"
    return f"bigbatch {of}, {which}, attempt {attempt}"


def job_name(key: str, attempt: int, withdrawn: int = 0) -> str:
    """Return the name by which a job is found when its id was not stored.

    No two submissions share a name: `withdrawn` is the number of submissions of the run that no cluster got.
    """
    return f"bigbatch-{key}-{attempt}" + (f".{withdrawn}" if withdrawn else "")
