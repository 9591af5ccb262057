"""The context of a worker: its database, clusters and run folders, and its memory between ticks."""

import math
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from contract.access.owners import OURS, Examined, Owners
from contract.access.visibility import Visibility
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import SNAPSHOTS, Settings
from contract.snapshot.blob_store import BlobStore
from contract.spec.any_run import read_run
from contract.user_home import expand_user
from orders.folders import Folders
from scheduler.clusters.cluster import ArrayRequest, Cluster, JobHandle, JobRequest
from scheduler.clusters.local import Local
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.presence import find_absence
from scheduler.retries import Retries
from scheduler.tensorboard.records import check_package
from store import clusters as store_clusters
from store.metrics.retention import Retention
from store.mirror.object_store import ObjectStore
from store.session import engine_for, snapshot
from store.tables.base import now
from store.tables.runs import Job, Run
from store.ticks import TickCounts


class HeartbeatSighting(NamedTuple):
    """A heartbeat's time stamp, since when this worker sees it, and whether the worker saw another one before."""

    stamp: float
    since: float  # time.monotonic
    has_changed: bool


class IngestFailures(NamedTuple):
    """How often a run could not be ingested."""

    in_row: int = 0
    since_end: int = 0  # of these, with its job known to be gone


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
    tick_counts: dict[str, TickCounts] = field(default_factory=lambda: defaultdict(TickCounts))  # not yet stored
    outputs_checked_to: int = 0  # the last run whose outputs the tick `prune` has looked at
    examined: set[Examined] = field(default_factory=set)  # tools and trees of code, before a job executes them
    retries: Retries = field(default_factory=Retries)  # of work with the files of runs: by kind and run
    garbage_removed_at: float = -math.inf  # of snapshots
    ingest_failures: dict[int, IngestFailures] = field(default_factory=dict)  # by run
    wide_read_at: dict[int, float] = field(default_factory=dict)  # by run that reports very many series
    missing_since: dict[int, float] = field(default_factory=dict)  # by run: events that were read are not there
    # by search: the state of its experiment at its last tick that changed nothing, and when that was
    searches_seen: dict[int, tuple[tuple[int, int, int], float]] = field(default_factory=dict)
    event_files_written: dict[int, int] = field(default_factory=dict)  # by run: bytes of its folder that are in them
    files_seen: dict[int, str | None] = field(default_factory=dict)  # by schedule: the version at the last look
    # by run: how often its curve was compared with its group's, and up to which step at last
    curves_seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    has_recovered: bool = False  # whether the first recover tick is over
    began: datetime = field(default_factory=now)  # by the service's clock, as reports of clusters have it
    searched_queues: set[str] | None = None  # clusters whose jobs were searched for orphans; None: not even folders
    named_orphans: set[str] = field(default_factory=set)  # in the log
    marked_change: int = -1  # the newest change at the last mark
    recorded_runs: dict[int, int] = field(default_factory=dict)  # by experiment: the highest id in its record

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
    notify_hosts: Sequence[str] = ()  # that messages may go to besides public addresses
    trigger_folders: Sequence[Path] = ()  # below which schedules may follow files
    public_url: str = ""  # of the dashboard, for links in messages; empty: no links
    slurm_absence: str | None = None  # why Slurm's commands of this host are not used
    tensorboard_folder: Path | None = None  # of event files; None: none are written
    object_store: ObjectStore | None = None  # that gets a copy of every artifact
    run_folders: Visibility = Visibility.PRIVATE  # who may look into them
    owners: Owners = OURS  # who may put files into the folders from which programs are executed

    @classmethod
    def of(cls, settings: Settings) -> "Context":
        """Return the context that the settings describe; raise ValueError if they leave no cluster."""
        engine = engine_for(settings.database_url())
        ranks = settings.local_ranks or psutil.cpu_count() or 1
        clusters: dict[str, Cluster] = {"local": Local(ranks)} if settings.local else {}
        slurm, absence = find_slurm(settings, engine)
        if slurm is not None:
            clusters["slurm"] = slurm
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
            notify_hosts=settings.notify_hosts,
            trigger_folders=settings.trigger_folders,
            public_url=settings.public_url,
            slurm_absence=absence,
            tensorboard_folder=_tensorboard_folder(settings),
            object_store=ObjectStore.of(settings),
            run_folders=settings.run_folders,
            owners=settings.owners(),
        )

    @property
    def blob_store(self) -> BlobStore:
        """The store of code snapshots."""
        return BlobStore(self.folders.snapshots)

    @property
    def folders(self) -> Folders:
        """The folders that the acceptance of an experiment reads."""
        return Folders(self.runs_folder, self.snapshots_folder or self.runs_folder / SNAPSHOTS)

    def folder_of(self, run: _RunKey) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder.of(self.runs_folder, run.id, run.key)

    def request_of(self, run: Run, job: Job) -> JobRequest:
        """Return the request for one attempt of a run."""
        spec = read_run(run.spec)
        comment = self._comment([run], job.attempt)
        return JobRequest(job.name, self.folder_of(run), job.attempt, spec, run.excluded, comment)

    def array_request_of(self, runs: Sequence[tuple[Run, Job]], *, parallel: int | None = None) -> ArrayRequest:
        """Return the request for the runs of one submission; `parallel` of them may run at once."""
        one, tasks = self.request_of(*runs[0]), sorted({job.array_task or 0 for _, job in runs})
        folder = ArrayFolder.of(self.runs_folder, one.name)
        members = [job.pack_member for _, job in runs if job.pack_member is not None]
        pack = max(members) + 1 if members else None
        at_once = parallel and parallel // (pack or 1)
        comment = self._comment([run for run, _ in runs], one.attempt)
        return ArrayRequest(one.name, folder, one.attempt, one.spec, tasks, at_once, one.excluded, pack, comment)

    def _comment(self, runs: Sequence[Run], attempt: int) -> str:
        """Return the comment of a job: other services on the cluster have an experiment 7 too."""
        service = self.public_url or str(self.runs_folder)
        return f"{_comment(runs, attempt)}, of {service}"


def find_slurm(settings: Settings, engine: Engine) -> tuple[Slurm | None, str | None]:
    """Return this host's Slurm, if it is used; and why its commands are not used although they are there."""
    has_commands = shutil.which("sbatch") is not None
    absence = _find_slurm_absence(engine) if settings.slurm is None and has_commands else None
    if absence is not None or not (has_commands if settings.slurm is None else settings.slurm):
        return None, absence
    return Slurm(settings.slurm_python, settings.slurm_setup, SharedRateLimit(engine, "slurm")), None


def _tensorboard_folder(settings: Settings) -> Path | None:
    """Return the folder of event files; None without the setting. Raise ValueError if none can be written there."""
    if settings.tensorboard is None:
        return None
    folder = expand_user(settings.tensorboard, "BIGBATCH_TENSORBOARD").absolute()
    if folder.is_relative_to(settings.runs_folder()):  # jobs may write there, and programs' event files are read there
        raise ValueError(f"BIGBATCH_TENSORBOARD is {folder}, in the folder of the run folders: choose another one")
    check_package()
    return folder


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
