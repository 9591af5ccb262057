"""The end of a job step by its rank 0; a script on PATH stands for scancel."""

import subprocess
from pathlib import Path

import pytest

from trainers.ranks.launch import slurm_step


def put_scancel(folder: Path, monkeypatch: pytest.MonkeyPatch, *, status: int) -> Path:
    """Put a scancel that writes its arguments on PATH; return the file that it writes."""
    written = folder / "arguments"
    script = folder / "scancel"
    script.write_text(f'#!/bin/sh\necho "$@" > "{written}"\nexit {status}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_STEP_ID", "3")
    return written


def test_the_own_step_alone_is_killed_after_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, waits = put_scancel(tmp_path, monkeypatch, status=0), list[float]()

    def sleep(seconds: float) -> None:
        assert not written.exists()
        waits.append(seconds)

    slurm_step.kill_own_step(sleep=sleep)
    assert (waits, written.read_text()) == ([slurm_step.GRACE_S], "--signal=KILL 17.3\n")


def test_a_scancel_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_scancel(tmp_path, monkeypatch, status=1)
    with pytest.raises(subprocess.CalledProcessError):
        slurm_step.kill_own_step(sleep=lambda _: None)
