"""The testbed of `make bench NAME=scale`: a scheduler with group runs on a fake Slurm whose jobs are rows."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import func, select

from contract.folder.events import Event, Finished, Points, Started
from contract.lifecycle.state import State
from contract.settings import Settings
from contract.spec.expanded import read_experiment
from lab.fake_slurm import programs, scheduler
from lab.fake_slurm.state import ClusterState
from lab.fake_slurm.state import Settings as ClusterSettings
from migrations.commands import upgrade
from scheduler.clusters.rate_limit import UnlimitedRate
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context
from store import runs
from store.lifecycle import creation
from store.session import engine_for, snapshot, transaction
from store.tables.runs import Job, Run

SPEC = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "slurm"},
}


class CallTimer(UnlimitedRate):
    """Allow every call of Slurm and record its duration."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def record(self, command: str, outcome: str, seconds: float) -> None:
        """Record the duration of a call."""
        self.calls.append((command, seconds))

    def seconds(self, command: str) -> float:
        """Return the total seconds of a command's calls since the previous query, and clear all records."""
        took = sum(seconds for called, seconds in self.calls if called == command)
        self.calls.clear()
        return took


@dataclass(frozen=True)
class Testbed:
    """A scheduler's site and its fake cluster."""

    cluster: ClusterState
    site: Context
    timer: CallTimer = field(default_factory=CallTimer)
    job_limit: int = 0  # jobs that Slurm accepts in total

    @classmethod
    def create(cls, settings: Settings, live: int) -> "Testbed":
        """Create a database and a cluster that can run `live` runs at the same time, without a rate limit of calls."""
        upgrade(settings.database_url())
        cluster = ClusterState.create(settings.home_folder() / "slurm", ClusterSettings(carried=0, hosts=1, cpus=live))
        os.environ["PATH"] = os.pathsep.join([str(programs.write(cluster.folder)), os.environ["PATH"]])
        site = Context(engine_for(settings.database_url()), {"slurm": Slurm()}, settings.runs_folder(), local_ranks=1)
        return cls(cluster, site)

    def with_job_limit(self, more: int) -> "Testbed":
        """Return the testbed with a Slurm that accepts `more` additional jobs; the scheduler has read this limit."""
        with snapshot(self.site.engine) as db:
            active = db.scalar(select(func.count()).where(Run.state.in_([State.PENDING, State.RUNNING]))) or 0
        self.cluster.set("max_submit", active + more)
        slurm = Slurm(rate_limit=self.timer)
        slurm.limits()
        return replace(self, site=replace(self.site, clusters={"slurm": slurm}), job_limit=active + more)

    def add_runs(self, size: int, name: str) -> int:
        """Insert an experiment with `size` runs; return its id."""
        document = {"name": name, "base": SPEC, "axes": {"seed": list(range(size))}}
        with transaction(self.site.engine) as db:
            return creation.create(db, read_experiment(document))[0]

    def count(self, *states: State) -> int:
        """Return the number of runs in these states."""
        with snapshot(self.site.engine) as db:
            return db.scalar(select(func.count()).where(Run.state.in_(states))) or 0

    def oldest(self, state: State, limit: int) -> Sequence[Run]:
        """Return the oldest runs in a state, at most `limit`."""
        with snapshot(self.site.engine) as db:
            return db.scalars(select(Run).where(Run.state == state).order_by(Run.id).limit(limit)).all()

    def start_runs(self, group: Sequence[Run]) -> None:
        """Write the start event of every run."""
        for run in group:
            self.write_event(run, Started(attempt=1, at=0.0, world=1, hosts=["h"], device="cpu", steps=44, versions={}))

    def step_runs(self, group: Sequence[Run]) -> None:
        """Write one more step of every run."""
        values = {"loss": 1.0, "learning_rate": 0.1, "samples_per_s": 1.0, "compute_s": 0.1}
        for run in group:
            self.write_event(run, Points(attempt=1, at=0.0, step=run.step + 1, values=dict(values)))

    def finish_runs(self, group: Sequence[Run]) -> None:
        """Write the final event of every run."""
        for run in group:
            self.write_event(run, Finished(attempt=1, at=0.0, step=44))

    def fail_ranks(self, group: Sequence[Run]) -> None:
        """Let the only rank of every run fail without an event, and write srun's error into the log."""
        for run in group:
            self.site.folder_of(run).log.write_text("srun: error: h: task 0: Exited with exit code 1\n")

    def write_event(self, run: Run, event: Event) -> None:
        """Append an event to the run's file."""
        with self.site.folder_of(run).events.open("a") as file:
            file.write(event.model_dump_json() + "\n")

    def end_jobs(self, group: Sequence[Run], state: str, code: str) -> None:
        """End the jobs of these runs in the cluster, all in one transaction."""
        with snapshot(self.site.engine) as db:
            jobs = select(Job.external_id).where(Job.id.in_([run.current_job_id for run in group]))
            ids = set(db.scalars(jobs))
        with self.cluster.transaction():
            for job in self.cluster.jobs("state = 'RUNNING'"):
                if job.full_id in ids:
                    self.cluster.end(job, state, code)
            scheduler.start_jobs(self.cluster)

    def request_stop(self, group: Sequence[Run]) -> None:
        """Request the stop of these runs."""
        with transaction(self.site.engine) as db:
            runs.request_stop(db, Run.id.between(group[0].id, group[-1].id) & (Run.state == group[0].state))

    def state_counts(self) -> dict[State, int]:
        """Return the number of runs in each state."""
        with snapshot(self.site.engine) as db:
            return runs.counts(db)
