"""The site that `make bench NAME=scale` measures: many runs on a stand-in Slurm whose jobs are rows, led by hand."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import func, select

from contract.folder.events import Event, Finished, Points, Started
from contract.lifecycle.state import State
from contract.settings import Settings
from contract.spec.experiment import ExperimentSpec
from lab.fake_slurm import programs
from lab.fake_slurm import scheduler as room
from lab.fake_slurm.state import Settings as Standing
from lab.fake_slurm.state import Stage
from migrations.commands import upgrade
from scheduler.clusters.rate_limit import OpenGate
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Site
from store import runs
from store.session import engine_for, snapshot, transaction
from store.tables import Run

SPEC = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "slurm"},
}


class Noted(OpenGate):
    """Lets every call pass, and notes how long it took."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def note(self, command: str, outcome: str, seconds: float) -> None:
        self.calls.append((command, seconds))

    def seconds(self, command: str) -> float:
        """How long the calls of a command took since this was asked last."""
        took = sum(seconds for made, seconds in self.calls if made == command)
        self.calls.clear()
        return took


@dataclass(frozen=True)
class World:
    stage: Stage
    site: Site
    told: Noted = field(default_factory=Noted)
    room: int = 0  # runs that Slurm takes in all

    @classmethod
    def make(cls, settings: Settings, live: int) -> "World":
        """A database, and a cluster with room for so many runs at once. The budget of calls is left open."""
        upgrade(settings.database_url())
        stage = Stage.make(settings.home_folder() / "slurm", Standing(carried=0, hosts=1, cpus=live))
        os.environ["PATH"] = os.pathsep.join([str(programs.write(stage.folder)), os.environ["PATH"]])
        site = Site(engine_for(settings.database_url()), {"slurm": Slurm()}, settings.runs_folder(), local_ranks=1)
        return cls(stage, site)

    def admits(self, more: int) -> "World":
        """The same with a Slurm that takes so many jobs more, and has said so."""
        with snapshot(self.site.engine) as db:
            under_way = db.scalar(select(func.count()).where(Run.state.in_([State.PENDING, State.RUNNING]))) or 0
        self.stage.set("max_submit", under_way + more)
        slurm = Slurm(gate=self.told)
        slurm.limits()
        return replace(self, site=replace(self.site, clusters={"slurm": slurm}), room=under_way + more)

    def add(self, size: int, name: str) -> int:
        """POST an experiment of so many runs; return its id."""
        document = {"name": name, "base": SPEC, "axes": {"seed": list(range(size))}}
        with transaction(self.site.engine) as db:
            return runs.create(db, ExperimentSpec.model_validate(document))[0]

    def count(self, *states: State) -> int:
        with snapshot(self.site.engine) as db:
            return db.scalar(select(func.count()).where(Run.state.in_(states))) or 0

    def some(self, state: State, most: int) -> Sequence[Run]:
        """The oldest runs in a state, at most so many."""
        with snapshot(self.site.engine) as db:
            return db.scalars(select(Run).where(Run.state == state).order_by(Run.id).limit(most)).all()

    def begin(self, many: Sequence[Run]) -> None:
        for run in many:
            self.say(run, Started(attempt=1, at=0.0, world=1, hosts=["h"], device="cpu", steps=44, versions={}))

    def step(self, many: Sequence[Run]) -> None:
        """Every run tells one step more."""
        values = {"loss": 1.0, "learning_rate": 0.1, "samples_per_s": 1.0, "compute_s": 0.1}
        for run in many:
            self.say(run, Points(attempt=1, at=0.0, step=run.step + 1, values=dict(values)))

    def finish(self, many: Sequence[Run]) -> None:
        """Every run says its last word."""
        for run in many:
            self.say(run, Finished(attempt=1, at=0.0, step=44))

    def fall(self, many: Sequence[Run]) -> None:
        """Every run's only rank falls without a word, and srun tells of it in the log."""
        for run in many:
            self.site.folder_of(run).log.write_text("srun: error: h: task 0: Exited with exit code 1\n")

    def say(self, run: Run, event: Event) -> None:
        with self.site.folder_of(run).events.open("a") as file:
            file.write(event.model_dump_json() + "\n")

    def end_jobs(self, many: Sequence[Run], state: str, code: str) -> None:
        """The cluster ends these runs' jobs, all at one moment."""
        ids = {str(run.job_id) for run in many}
        with self.stage.alone():
            for job in self.stage.jobs("state = 'RUNNING'"):
                if job.spelled in ids:
                    self.stage.end(job, state, code)
            room.begin(self.stage)

    def want_stop(self, many: Sequence[Run]) -> None:
        with transaction(self.site.engine) as db:
            runs.want_stop(db, Run.id.between(many[0].id, many[-1].id) & (Run.state == many[0].state))

    def page(self) -> dict[str, Any]:
        """How many runs are in each state."""
        with snapshot(self.site.engine) as db:
            return runs.counts(db)
