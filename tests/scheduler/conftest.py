"""Contexts of workers on fake clusters that a test controls."""

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import JobRequest
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.refresh_clusters import refresh_clusters
from store.lifecycle import creation
from store.session import transaction
from tests.testing.clusters import SLURM, Far, Play, Puppet
from tests.testing.local_jobs import NAME
from tests.testing.specs import Experiment


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Replace Slurm's commands by shell scripts that the test writes."""
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
def imported_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the doctor know PyTorch, whose import takes seconds."""
    answer = {"version": "2.7", "gpus": 0, "binds_stores": True}
    monkeypatch.setattr("scheduler.doctor.torch.probe_here", lambda: answer)


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
def context(engine: Engine, puppet: Puppet, tmp_path: Path) -> Context:
    return Context(engine, {"local": puppet}, tmp_path / "runs", local_ranks=1000)


@pytest.fixture
def run_ids(context: Context, experiment: Experiment) -> list[int]:
    with transaction(context.engine) as db:
        return creation.create(db, experiment({"seed": [0, 1, 2]}))[1]


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def far_context(sqlite_engine: Engine, far: Far, tmp_path: Path) -> Context:
    """A context on SQLite whose only cluster accepts arrays."""
    return Context(sqlite_engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


@pytest.fixture
def far_run_id(far_context: Context, experiment: Experiment) -> int:
    """A run whose job that cluster has accepted."""
    with transaction(far_context.engine) as db:
        (run_id,) = creation.create(db, experiment(resources=SLURM))[1]
    refresh_clusters(far_context)
    submit_queued(far_context)
    return run_id


@pytest.fixture
def short_wait_for_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a fifth of a second, not ten, for a claim that a shared file system does not show yet."""
    monkeypatch.setattr("contract.folder.run_folder.LATE_S", 0.2)


@pytest.fixture
def local_job(tmp_path: Path, experiment: Experiment) -> JobRequest:
    """The first attempt of a run, as a local cluster gets it."""
    spec: RunSpec = experiment().spec.base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return JobRequest(NAME, folder, 1, spec)
