"""Signs of life are told apart from silence, also where they bear the time of a host whose clock is off."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.folder.run_folder import RunFolder
from scheduler.jobs import liveness as pulse
from scheduler.jobs.liveness import Pulse, feel
from tests.conftest import Experiment


@pytest.fixture
def folder(tmp_path: Path, experiment: Experiment) -> RunFolder:
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(experiment().base)
    return folder


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How much later it is than it was."""
    ahead = [0.0]
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead[0]))
    return ahead


def beat(folder: RunFolder, at: float) -> None:
    folder.beat(1)
    os.utime(folder.path / "attempts" / "1.beat", (at, at))


def test_a_job_without_a_sign_of_life_is_silent_and_a_fresh_sign_is_believed_at_once(folder: RunFolder) -> None:
    assert feel(folder, 1) is Pulse.SILENT
    folder.beat(1)
    assert feel(folder, 1) is Pulse.BEATS


@pytest.mark.parametrize("ahead_s", [-600.0, 600.0])
def test_signs_with_the_time_of_a_clock_that_is_off_are_seen_by_their_change(
    folder: RunFolder, later: list[float], ahead_s: float
) -> None:
    """Forces the fault: the stamps are those of a host whose clock is ten minutes off, and then stay as they are."""
    beat(folder, time.time() + ahead_s)
    assert feel(folder, 1) is Pulse.UNSURE
    later[0] += 10.0
    beat(folder, time.time() + ahead_s + 10.0)
    assert feel(folder, 1) is Pulse.BEATS
    later[0] += 40.0
    assert feel(folder, 1) is Pulse.BEATS
    later[0] += 10.0
    assert feel(folder, 1) is Pulse.SILENT


def test_a_stamp_that_looks_old_is_watched_for_a_while_before_it_counts_as_silence(
    folder: RunFolder, later: list[float]
) -> None:
    beat(folder, time.time() - 300.0)
    assert feel(folder, 1) is Pulse.UNSURE
    later[0] += 16.0
    assert feel(folder, 1) is Pulse.SILENT
