"""The service on the stand-in Slurm, whose faults can be switched on, and on the lab."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import update

from lab.standin.stage import Job, Settings, Stage
from store.session import engine_for, transaction
from store.tables import CallSlot, Cluster
from tests.faults import light
from tests.faults.audit import all_is_well
from tests.faults.standin import carried, on_path
from tests.flow.service import Service, running
from tests.servers import wait_for

SPEC = """
name: {name}
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: 128
  epochs: {epochs}
  resources: {{kind: slurm, partition: gpu}}
  retries: {{backoff_s: 1}}
axes: {{seed: [{seeds}]}}
"""
STEPS_PER_EPOCH, TRUE_WITHIN_S = 11, 30.0


@dataclass
class OnStandIn:
    """A service and its Slurm; every test leaves the stand-in without faults."""

    service: Service
    stage: Stage

    def post(self, seeds: int = 1, *, epochs: int = 1, name: str = "fault") -> list[int]:
        text = SPEC.format(name=name, epochs=epochs, seeds=", ".join(map(str, range(seeds))))
        return self.service.post(text)

    def states(self, run_ids: list[int]) -> list[str]:
        return [self.service.get(f"/runs/{run_id}")["state"] for run_id in run_ids]

    def all_done(self, run_ids: list[int], within_s: float = TRUE_WITHIN_S) -> None:
        """All end well within so long, and nothing was lost or doubled on the way."""
        with suppress(AssertionError):  # who has not ended is told below, with all that is known of it
            wait_for("the runs' end", lambda: set(self.states(run_ids)) == {"done"}, within_s)
        self.all_is_well(run_ids)

    def all_is_well(self, run_ids: list[int], *ends: str) -> None:
        all_is_well(self.service, run_ids, self.accounting, ends=ends or ("done",))

    def accounting(self) -> list[tuple[str, str]]:
        return [(job.spelled, job.name) for job in self.stage.jobs()]

    def befall(self, *mishap: str) -> None:
        """Let one of the stand-in's mishaps happen."""
        subprocess.run([sys.executable, "-m", "lab.standin", str(self.stage.folder), *mishap], check=True)

    def command(self, *words: str) -> None:
        """Call one of Slurm's commands by hand."""
        subprocess.run(words, check=True, env={**os.environ, "PATH": on_path(self.stage.folder)})

    def job_of(self, run_id: int) -> Job:
        """The job that carries the run now."""
        job_id = self.service.get(f"/runs/{run_id}")["job_id"]
        return next(job for job in reversed(self.stage.jobs()) if job.spelled == job_id)


def a_minute_later(service: Service) -> None:
    """A minute's calls of Slurm are there again, and it need not be spared: what was before ended long ago."""
    inside = f"sqlite:///{service.environment['BIGBATCH_HOME']}/bigbatch.db"
    with transaction(engine_for(service.environment.get("BIGBATCH_DATABASE", inside))) as db:
        db.execute(update(CallSlot).values(at=0.0))
        db.execute(update(Cluster).values(look_after=None))


@pytest.fixture(scope="module")
def _on_stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnStandIn]:
    home = tmp_path_factory.mktemp("standin")
    with carried(home / "slurm", Settings(kill_wait_s=2.0)) as stage, running(home / "home", settings(home)) as service:
        yield OnStandIn(service, stage)


def settings(home: Path) -> dict[str, str]:
    """The service's, on the stand-in in `home`/slurm with trainers that begin at once."""
    return {
        "PATH": on_path(home / "slurm"),
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_PYTHON": str(light.program(home)),
        light.STEP_S: "0.1",
    }


@pytest.fixture
def on(_on_stand_in: OnStandIn) -> Iterator[OnStandIn]:
    a_minute_later(_on_stand_in.service)
    yield _on_stand_in
    stage = _on_stand_in.stage
    stage.db.execute("DELETE FROM faults")
    for name, value in {"max_array_size": 1001, "sacct_late_s": 0, "accounting": 1}.items():
        stage.set(name, value)
    stage.db.execute("UPDATE hosts SET down = 0")
