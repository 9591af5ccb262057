"""A site whose cluster does as it is told: for faults that a real one cannot be made to have."""

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from contract.folder.events import Event
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, Answer, Array, DoubtError, Held, Job, Limits
from scheduler.context import Site
from scheduler.submit.submission import launch
from store import runs
from store.session import snapshot, transaction
from store.tables import Run
from tests.conftest import Experiment


class Puppet:
    """Takes every job, and answers as `answers` and `trouble` say."""

    def __init__(self) -> None:
        self.tasks = 1
        self._alone = threading.Lock()  # eight launchers may submit at once
        self.jobs: dict[str, Job | Array] = {}
        self.cancelled: list[tuple[str, bool]] = []
        self.answers: dict[str, Answer] = {}
        self.trouble: Exception | None = None  # raised after the job was taken: sbatch that "timed out"
        self.unlisted: set[str] = set()  # jobs that it leaves out when some are to be cancelled

    is_here = True

    def limits(self) -> Limits:
        return Limits(self.tasks)

    def may_submit(self, *, besides: int = 0) -> bool:
        return True

    def submit(self, job: Job | Array) -> str:
        with self._alone:
            job_id = f"job{len(self.jobs) + 1}"
            self.jobs[job_id] = job
        if self.trouble:
            raise self.trouble
        return job_id

    def ask(self, jobs: Sequence[Held]) -> Mapping[Held, Answer]:
        return {job: self.answers.get(job.id, Alive()) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        known = {job.name: job_id for job_id, job in self.jobs.items()}
        return {name: known.get(name) for name in names}

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> Sequence[Held]:
        told = [job for job in jobs if job.id not in self.unlisted]
        self.cancelled += [(job.id, force) for job in told]
        return told

    def report(self, *, urgent: bool = False) -> ClusterReport:
        raise DoubtError("no answer")

    def script(self, job: Job | Array) -> str:
        return job.name


Play = Callable[[str, str], None]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Make one of Slurm's commands a shell script."""
    stage = tmp_path / "bin"
    stage.mkdir()
    monkeypatch.setenv("PATH", f"{stage}{os.pathsep}{os.environ['PATH']}")

    def write(command: str, script: str) -> None:
        (stage / command).write_text(f"#!/bin/sh\n{script}\n")
        (stage / command).chmod(0o755)

    for command in ("sbatch", "squeue", "sacct", "sacctmgr", "scancel", "scontrol", "sinfo"):
        write(command, 'echo "not played" >&2; exit 1')
    return write


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
def site(engine: Engine, puppet: Puppet, tmp_path: Path) -> Site:
    return Site(engine, {"local": puppet}, tmp_path / "runs", local_ranks=1000)


@pytest.fixture
def run_ids(site: Site, experiment: Experiment) -> list[int]:
    with transaction(site.engine) as db:
        return runs.create(db, experiment({"seed": [0, 1, 2]}))[1]


def read(site: Site, run_id: int) -> Run:
    with snapshot(site.engine) as db:
        return db.get_one(Run, run_id)


def eight_launch(site: Site) -> None:
    """Eight launchers begin at the same moment on the same queued runs."""
    together = threading.Barrier(8)

    def go() -> None:
        together.wait()
        launch(site, math.inf)  # to the end, however long a busy machine takes

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def states(site: Site) -> list[State]:
    with snapshot(site.engine) as db:
        return [State(run.state) for run in runs.in_state(db, *State)]


Say = Callable[..., None]


def say(site: Site, run_id: int, *events: Event, torn: str = "") -> None:
    """Write into the run's events file what its rank 0 would."""
    with site.folder_of(read(site, run_id)).events.open("a") as file:
        file.write("".join(event.model_dump_json() + "\n" for event in events) + torn)
