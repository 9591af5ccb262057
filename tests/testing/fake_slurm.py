"""The stand-in Slurm in tests: as programs on PATH with something that carries jobs, or called in this very process."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from contract.folder.run_folder import RunFolder
from lab.fake_slurm import programs
from lab.fake_slurm.commands import execute
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import ClusterState, Job, Settings
from runfiles.claim import ClaimRefused, claim_attempt
from runfiles.packed import read_members
from scheduler.clusters.cluster import RateLimitedError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import CommandResult, Commands


@contextmanager
def carried(folder: Path, settings: Settings | None = None) -> Iterator[ClusterState]:
    """A stand-in whose jobs are carried out, as processes of this machine."""
    stage = ClusterState.create(folder, settings or Settings())
    programs.write(folder)
    command = [sys.executable, "-m", "lab.fake_slurm", str(folder), "up"]
    carrier = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert carrier.stdout
    carrier.stdout.readline()
    try:
        yield stage
    finally:
        carrier.terminate()
        carrier.wait(20)


def on_path(folder: Path) -> str:
    return os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])


def call_in_process(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the scheduler call the stand-in's commands without a process each: a thousand kills need not take all day."""

    def run(self: Commands, *command: str, priority: Priority, timeout_s: int = 0) -> CommandResult:
        if not self.rate_limit.acquire(priority):
            raise RateLimitedError(command[0])
        try:
            return CommandResult(0, execute(ClusterState(folder), command[0], command[1:]), "")
        except SlurmError as error:
            return CommandResult(1, "", str(error))

    monkeypatch.setattr(Commands, "run", run)


def trains(stage: ClusterState, job: Job) -> list[Path]:
    """Let the job begin, as its script would: the folders of the runs that it carries out, none when it must leave."""
    folders, attempt = _target(stage, job)
    return [folder.path.resolve() for folder in folders if _settles(folder, attempt, job)]


def _settles(folder: RunFolder, attempt: int, job: Job) -> bool:
    try:
        claim_attempt(folder, attempt, job=job.full_id)
    except ClaimRefused:
        return False
    return True


def _target(stage: ClusterState, job: Job) -> tuple[list[RunFolder], int]:
    script = (stage.job_folder(job) / "script").read_text()
    (line,) = [line for line in script.splitlines() if " -m trainers" in line]
    words: Sequence[str] = re.split(r" -m trainers(?:\.packed_runs)? ", line)[1].split()
    path = Path(words[0].replace("$SLURM_ARRAY_TASK_ID", str(job.task)))
    paths = [member.path for member in read_members(path).values()] if ".packed_runs" in line else [path]
    return [RunFolder(path) for path in paths], int(words[2])
