"""What every tick works with: the database, the clusters, the run folders."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import Engine

from contract.folder import RunFolder
from contract.settings import Settings
from contract.spec import RunSpec
from scheduler.clusters.cluster import Cluster, Job
from scheduler.clusters.local import Local
from scheduler.clusters.slurm import Slurm
from store.session import engine_for
from store.tables import Run


@dataclass(frozen=True)
class Site:
    engine: Engine
    clusters: Mapping[str, Cluster]
    runs_folder: Path
    local_ranks: int  # that may train at once on this machine

    @classmethod
    def of(cls, settings: Settings) -> "Site":
        """The site that the settings describe."""
        slurm = shutil.which("sbatch") is not None if settings.slurm is None else settings.slurm
        clusters: dict[str, Cluster] = {"local": Local()}
        if slurm:
            clusters["slurm"] = Slurm(settings.slurm_python, settings.slurm_setup)
        ranks = settings.local_ranks or psutil.cpu_count() or 1
        return cls(engine_for(settings.database_url()), clusters, settings.runs_folder(), ranks)

    def folder_of(self, run: Run) -> RunFolder:
        return RunFolder.of(self.runs_folder, run.id, run.key)

    def job_of(self, run: Run) -> Job:
        """The current attempt at `run` as its cluster gets it."""
        return Job(job_name(run.key, run.attempt), self.folder_of(run), run.attempt, RunSpec.model_validate(run.spec))


def job_name(key: str, attempt: int) -> str:
    """The name by which a job is found again when its id was never stored."""
    return f"bigbatch-{key}-{attempt}"
