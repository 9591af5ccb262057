"""Liveness: a heartbeat proves that a job is alive, also when its host's clock is wrong."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.folder.run_folder import RunFolder
from scheduler.context import Memory
from scheduler.jobs import liveness
from scheduler.jobs.liveness import Liveness, read_liveness
from tests.testing.specs import Experiment


@pytest.fixture
def folder(tmp_path: Path, experiment: Experiment) -> RunFolder:
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(experiment().spec.base)
    return folder


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The number of seconds by which time.monotonic is ahead."""
    ahead = [0.0]
    monkeypatch.setattr(liveness, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead[0]))
    return ahead


@pytest.fixture
def memory() -> Memory:
    return Memory()


def beat(folder: RunFolder, at: float) -> None:
    folder.write_heartbeat(1)
    os.utime(folder.path / "attempts" / "1.beat", (at, at))


def test_a_job_without_a_heartbeat_is_silent_and_a_fresh_heartbeat_counts_at_once(
    memory: Memory, folder: RunFolder
) -> None:
    assert read_liveness(memory, folder, 1) is Liveness.SILENT
    folder.write_heartbeat(1)
    assert read_liveness(memory, folder, 1) is Liveness.ALIVE


@pytest.mark.parametrize("ahead_s", [-600.0, 600.0])
def test_a_heartbeat_with_a_wrong_time_counts_when_it_changes(
    memory: Memory, folder: RunFolder, later: list[float], ahead_s: float
) -> None:
    """Forces the fault: the time stamps come from a clock that is ten minutes wrong, and then stop changing."""
    beat(folder, time.time() + ahead_s)
    assert read_liveness(memory, folder, 1) is Liveness.UNSURE
    later[0] += 10.0
    beat(folder, time.time() + ahead_s + 10.0)
    assert read_liveness(memory, folder, 1) is Liveness.ALIVE
    later[0] += 40.0
    assert read_liveness(memory, folder, 1) is Liveness.ALIVE
    later[0] += 10.0
    assert read_liveness(memory, folder, 1) is Liveness.SILENT


def test_an_old_heartbeat_is_watched_for_a_while_before_the_job_counts_as_silent(
    memory: Memory, folder: RunFolder, later: list[float]
) -> None:
    beat(folder, time.time() - 300.0)
    assert read_liveness(memory, folder, 1) is Liveness.UNSURE
    later[0] += 16.0
    assert read_liveness(memory, folder, 1) is Liveness.SILENT
