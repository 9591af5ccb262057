"""What rank 0 reports with the end of an attempt."""

import time
from pathlib import Path

import pytest

from contract.folder.events import Failed, Paused
from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.programs import events_of
from trainers.progress.reporter import Reporter


def test_the_time_of_an_attempt_is_right_though_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: somebody sets the clock two hours back while the attempt trains."""
    folder, real = RunFolder(tmp_path), time.time
    ends = []
    for attempt in (1, 2):
        report = Reporter(folder, attempt, rank=0)
        monkeypatch.setattr(time, "time", real)
        report.started(["n1"], device="cpu", steps=9, versions={})
        monkeypatch.setattr(time, "time", lambda: real() - 7200)
        if attempt == 1:
            report.paused(3, saved_step=3, reason="SIGTERM on rank 0")
        else:
            failure = RankFailure(at=1.0, rank=0, host="n1", reason="no", kind=FailureKind.PYTHON_ERROR)
            report.failed(failure)
        started, end = events_of(folder)[-2:]
        assert end.at < started.at - 7000
        ends.append(end)
    assert [type(end) for end in ends] == [Paused, Failed]
    assert all(isinstance(end, Paused | Failed) and end.ran_s is not None and 0 <= end.ran_s < 60 for end in ends)


def test_an_attempt_that_fails_before_its_start_ran_for_no_known_time(tmp_path: Path) -> None:
    failure = RankFailure(at=1.0, rank=0, host="n1", reason="no", kind=FailureKind.PYTHON_ERROR)
    Reporter(RunFolder(tmp_path), 1, rank=0).failed(failure)
    (end,) = events_of(RunFolder(tmp_path))
    assert isinstance(end, Failed)
    assert end.ran_s is None
