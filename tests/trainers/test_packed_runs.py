"""Several runs in one job: exit statuses are written, requests forwarded, and the end of the job is left to Slurm."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from runfiles import packed as packed_runs
from tests.testing.servers import wait_for
from tests.testing.specs import Experiment

# replaces srun: handles USR2 and TERM, and writes that it has started
WORKS = "trap 'exit 4' USR2; trap 'exit 137' TERM; touch {}/began; while true; do sleep 0.05; done"

HASTY = "from runfiles import packed as p; from trainers import packed_runs; "
HASTY += "p.POLL_S, p.JOB_END_WAIT_S = 0.1, 0.5; packed_runs.main()"


@pytest.fixture
def folders(tmp_path: Path, experiment: Experiment) -> list[RunFolder]:
    made = [RunFolder.of(tmp_path, number, "cafe") for number in (1, 2)]
    for folder in made:
        folder.prepare(experiment().spec.base, 1)
    ArrayFolder.of(tmp_path, "pack").link_packs({0: dict(enumerate(made))})
    return made


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return ArrayFolder.of(tmp_path, "pack").path / "0"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Poll fast, and restore the signal handlers afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR2)}
    monkeypatch.setattr(packed_runs, "POLL_S", 0.02)
    monkeypatch.setattr(packed_runs, "JOB_END_WAIT_S", 0.1)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def carrier(task: Path, folders: list[RunFolder]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process with two runs, and wait until both have started."""
    command = [sys.executable, "-c", HASTY, str(task), "--attempt", "1", "--", "sh", "-c", WORKS]
    with subprocess.Popen(command, start_new_session=True) as process:
        wait_for("both", lambda: all((folder.path / "began").exists() for folder in folders))
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def statuses(folders: list[RunFolder]) -> list[int | None]:
    return [folder.read_part_exit(1) for folder in folders]


@pytest.mark.usefixtures("quick")
def test_every_run_has_its_exit_status_and_log(task: Path, folders: list[RunFolder]) -> None:
    reported = 'echo "$BIGBATCH_MEMBER" {}; exit $((7 * BIGBATCH_MEMBER))'
    assert packed_runs.run_packed(task, 1, ["sh", "-c", reported]) == 0
    assert statuses(folders) == [0, 7]
    assert folders[1].log.read_text().split() == ["1", str(task / "1")]


@pytest.mark.usefixtures("quick")
def test_a_restart_does_not_repeat_runs_that_have_ended(task: Path, folders: list[RunFolder]) -> None:
    """Forces a requeue of the job after one of its runs has ended."""
    folders[0].write_part_exit(1, 0)
    assert packed_runs.run_packed(task, 1, ["sh", "-c", "exit 3"]) == 0
    assert statuses(folders) == [0, 3]
    assert packed_runs.run_packed(task, 1, ["false"]) == 0
    assert statuses(folders) == [0, 3]


@pytest.mark.usefixtures("quick")
def test_a_command_that_cannot_start_has_an_exit_status(task: Path, folders: list[RunFolder]) -> None:
    assert packed_runs.run_packed(task, 1, ["/no/such/srun"]) == 0
    assert statuses(folders) == [127, 127]


@pytest.mark.ring("all")
def test_a_request_reaches_only_its_run(carrier: "subprocess.Popen[bytes]", folders: list[RunFolder]) -> None:
    folders[0].request_end(1, force=False)
    wait_for("the end of the one that was asked", lambda: statuses(folders) == [4, None])
    folders[1].request_end(1, force=True)
    assert carrier.wait(60) == 0
    assert statuses(folders) == [4, 137]


def test_the_end_of_the_job_is_not_written_as_the_end_of_a_run(
    carrier: "subprocess.Popen[bytes]", folders: list[RunFolder]
) -> None:
    """Forces SIGTERM to all processes of the job, first to the runs, as Slurm sends it."""
    carrier.send_signal(signal.SIGSTOP)  # so that one poll finds all changes
    for step in psutil.Process(carrier.pid).children():
        step.send_signal(signal.SIGUSR2)
    carrier.terminate()
    carrier.send_signal(signal.SIGCONT)
    assert carrier.wait(60) == 128 + signal.SIGTERM
    assert statuses(folders) == [None, None]
