"""The service on a fake Slurm, whose faults can be switched on."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import update

from lab import processes
from lab.fake_slurm.state import ACTIVE, ClusterState, Job
from store.session import engine_for, transaction
from store.tables.clusters import CallSlot, Cluster, NoAnswer
from tests.testing.fake_slurm import on_path
from tests.testing.faults import light, truth
from tests.testing.faults.audit import all_is_well, events
from tests.testing.servers import wait_for
from tests.testing.service import Service

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
STEPS_PER_EPOCH = 11


@dataclass
class OnStandIn:
    """A service and its Slurm; every test leaves the stand-in without faults."""

    service: Service
    stage: ClusterState

    def post(self, seeds: int = 1, *, epochs: int = 1, name: str = "fault") -> list[int]:
        text = SPEC.format(name=name, epochs=epochs, seeds=", ".join(map(str, range(seeds))))
        return self.service.post(text)

    @property
    def database(self) -> str:
        return database_of(self.service)

    def states(self, run_ids: list[int]) -> list[str]:
        return [self.service.get(f"/runs/{run_id}")["state"] for run_id in run_ids]

    def all_done(self, run_ids: list[int], within_s: float = 150) -> None:
        """All end well within so long, and nothing was lost or doubled on the way."""
        with suppress(AssertionError):  # who has not ended is told below, with all that is known of it
            wait_for("the runs' end", lambda: set(self.states(run_ids)) == {"done"}, within_s)
        self.all_is_well(run_ids)

    def all_is_well(self, run_ids: list[int], *ends: str) -> None:
        all_is_well(self.service, run_ids, self.accounting, ends=ends or ("done",))

    def true_soon(self, run_ids: list[int], since: float | None = None) -> float:
        """What is told of the runs is so within 30 s of the fault's end, which is now or was at `since`."""
        return truth.true_soon(self.service, run_ids, self.jobs, since=since)

    def jobs(self) -> list[truth.Job]:
        """What the cluster has under way, whatever it answers."""
        there = self.stage.jobs("state IN (?, ?, ?)", *ACTIVE)
        return [truth.Job(job.full_id, job.name, job.state) for job in there]

    def cancels_of(self, job: Job) -> list[str]:
        """What scancel was told of the job, call by call."""
        reported = self.stage.db.execute("SELECT words FROM calls WHERE command = 'scancel' ORDER BY at")
        return [words for (words,) in reported if job.full_id in words.split()]

    def wait_for_calls(self, command: str, more: int = 1) -> None:
        """Wait until the service has called a command so often."""
        before = self.stage.count_calls(command)
        wait_for(f"{more} calls of {command}", lambda: self.stage.count_calls(command) >= before + more)

    def is_called(self, *commands: str) -> bool:
        """Whether one of these commands is being carried out."""
        programs = {str(self.stage.folder / "bin" / command) for command in commands}
        return any(programs.intersection(process.words) for process in processes.iter_processes())

    def wait_for_spent_fault(self, command: str) -> None:
        """Wait until a command has had its fault as often as it was to: that is the fault's end."""
        wait_for(f"the fault of {command}", lambda: not self.stage.has_fault(command))

    def wait_for_end_of(self, job: Job) -> None:
        """Wait until the cluster has ended the job, or put it back into its queue."""
        as_it_was = ("row = ? AND restarts = ? AND state IN (?, ?, ?)", job.row, job.restarts, *ACTIVE)
        wait_for(f"the end of job {job.full_id}", lambda: not self.stage.jobs(*as_it_was))

    def accounting(self) -> list[tuple[str, str]]:
        return [(job.full_id, job.name) for job in self.stage.jobs()]

    def befall(self, *mishap: str) -> None:
        """Let one of the stand-in's mishaps happen."""
        subprocess.run([sys.executable, "-m", "lab.fake_slurm", str(self.stage.folder), *mishap], check=True)

    def command(self, *words: str) -> None:
        """Call one of Slurm's commands by hand."""
        subprocess.run(words, check=True, env={**os.environ, "PATH": on_path(self.stage.folder)})

    def has_finished(self, run_id: int) -> bool:
        """Whether the run has said, in the folder as the scheduler sees it, that it is through."""
        return any(line["kind"] == "finished" for line in events(Path(self.service.get(f"/runs/{run_id}")["folder"])))

    def job_of(self, run_id: int) -> Job:
        """The job that carries the run now."""
        job_id = self.service.get(f"/runs/{run_id}")["job_id"]
        return next(job for job in reversed(self.stage.jobs()) if job.full_id == job_id)


def database_of(service: Service) -> str:
    inside = f"sqlite:///{service.environment['BIGBATCH_HOME']}/bigbatch.db"
    return service.environment.get("BIGBATCH_DATABASE", inside)


def a_minute_later(service: Service) -> None:
    """A minute's calls of Slurm are there again, and it need not be spared: what was before ended long ago."""
    with transaction(engine_for(database_of(service))) as db:
        db.execute(update(CallSlot).values(at=0.0))
        db.execute(update(Cluster).values(poll_after=None))
        db.execute(update(NoAnswer).values(at=0.0))


def settings(home: Path) -> dict[str, str]:
    """The service's, on the stand-in in `home`/slurm with trainers that begin at once."""
    return {
        "PATH": on_path(home / "slurm"),
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_PYTHON": str(light.program(home)),
        light.STEP_S: "0.1",
    }
