"""What every tick works with: the database, the clusters, the run folders."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import Engine

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import Array, Cluster, Held, Job
from scheduler.clusters.local import Local
from scheduler.clusters.shared_rate_limit import Budget
from scheduler.clusters.slurm.cluster import Slurm
from store.runs import LiveRun
from store.session import engine_for
from store.tables import Run


@dataclass(frozen=True)
class Site:
    engine: Engine
    clusters: Mapping[str, Cluster]
    runs_folder: Path
    local_ranks: int  # that may train at once on this machine
    # by cluster, the submission of many runs that a launch tick has begun and the next goes on with; of this process
    begun: dict[str, Iterator[float]] = field(default_factory=dict, compare=False)
    gathering: dict[str, float] = field(default_factory=dict, compare=False)  # likewise, since when a search waits
    once: set[str] = field(default_factory=set, compare=False)  # what this process has done before

    @classmethod
    def of(cls, settings: Settings) -> "Site":
        """The site that the settings describe."""
        slurm = shutil.which("sbatch") is not None if settings.slurm is None else settings.slurm
        engine = engine_for(settings.database_url())
        clusters: dict[str, Cluster] = {"local": Local()}
        if slurm:
            clusters["slurm"] = Slurm(settings.slurm_python, settings.slurm_setup, Budget(engine, "slurm"))
        ranks = settings.local_ranks or psutil.cpu_count() or 1
        return cls(engine, clusters, settings.runs_folder(), ranks)

    def folder_of(self, run: Run | LiveRun) -> RunFolder:
        return RunFolder.of(self.runs_folder, run.id, run.key)

    def job_of(self, run: Run) -> Job:
        """The current attempt at `run` as its cluster gets it."""
        spec = RunSpec.model_validate(run.spec)
        return Job(run.job_name or job_name(run.key, run.attempt), self.folder_of(run), run.attempt, spec, run.excluded)

    def array_of(self, several: Sequence[Run], *, parallel: int | None = None) -> Array:
        """Runs of one submission, as their cluster gets them together; `parallel` of them may run at once."""
        one, tasks = self.job_of(several[0]), sorted({run.task or 0 for run in several})
        folder = ArrayFolder.of(self.runs_folder, one.name)
        members = [run.member for run in several if run.member is not None]
        pack = max(members) + 1 if members else None
        at_once = parallel and parallel // (pack or 1)
        return Array(one.name, folder, one.attempt, one.spec, tasks, at_once, one.excluded, pack)


def held(run: Run | LiveRun) -> Held:
    """The job of a run, as its cluster is asked about it."""
    return Held(str(run.job_id), run.job_name or "")


def job_name(key: str, attempt: int) -> str:
    """The name by which a job is found again when its id was never stored."""
    return f"bigbatch-{key}-{attempt}"
