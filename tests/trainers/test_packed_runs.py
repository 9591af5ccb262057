"""Who carries several runs in one job: ends are written, wishes heeded, and the job's own end is left to Slurm."""

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
from tests.conftest import Experiment
from tests.testing.servers import wait_for
from trainers import packed_runs as pack

# what srun is to the members: it hears USR2 and TERM, and says so in its folder
WORKS = "trap 'exit 4' USR2; trap 'exit 137' TERM; touch {}/began; while true; do sleep 0.05; done"

HASTY = "from trainers import packed_runs as pack; pack.LOOK_S, pack.SETTLE_S = 0.1, 0.5; pack.main()"


@pytest.fixture
def folders(tmp_path: Path, experiment: Experiment) -> list[RunFolder]:
    made = [RunFolder.of(tmp_path, number, "cafe") for number in (1, 2)]
    for folder in made:
        folder.prepare(experiment().base, 1)
    ArrayFolder.of(tmp_path, "pack").prepare_packs({0: dict(enumerate(made))})
    return made


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return ArrayFolder.of(tmp_path, "pack").path / "0"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looks at once, and handlers of signals as they were afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR2)}
    monkeypatch.setattr(pack, "LOOK_S", 0.02)
    monkeypatch.setattr(pack, "SETTLE_S", 0.1)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def carrier(task: Path, folders: list[RunFolder]) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that carries two runs, both begun."""
    command = [sys.executable, "-c", HASTY, str(task), "--attempt", "1", "--", "sh", "-c", WORKS]
    with subprocess.Popen(command, start_new_session=True) as process:
        wait_for("both", lambda: all((folder.path / "began").exists() for folder in folders))
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def statuses(folders: list[RunFolder]) -> list[int | None]:
    return [folder.end_status(1) for folder in folders]


@pytest.mark.usefixtures("quick")
def test_every_run_has_its_own_end_and_log(task: Path, folders: list[RunFolder]) -> None:
    said = 'echo "$BIGBATCH_MEMBER" {}; exit $((7 * BIGBATCH_MEMBER))'
    assert pack.carry_out(task, 1, ["sh", "-c", said]) == 0
    assert statuses(folders) == [0, 7]
    assert folders[1].log.read_text().split() == ["1", str(task / "1")]


@pytest.mark.usefixtures("quick")
def test_begun_again_it_leaves_what_has_ended_alone(task: Path, folders: list[RunFolder]) -> None:
    """Forces the fault: the job is requeued when one of its runs has ended."""
    folders[0].note_end(1, 0)
    assert pack.carry_out(task, 1, ["sh", "-c", "exit 3"]) == 0
    assert statuses(folders) == [0, 3]
    assert pack.carry_out(task, 1, ["false"]) == 0
    assert statuses(folders) == [0, 3]


@pytest.mark.usefixtures("quick")
def test_a_command_that_cannot_be_begun_is_an_end_too(task: Path, folders: list[RunFolder]) -> None:
    assert pack.carry_out(task, 1, ["/no/such/srun"]) == 0
    assert statuses(folders) == [127, 127]


def test_a_wish_reaches_the_one_it_is_meant_for(carrier: "subprocess.Popen[bytes]", folders: list[RunFolder]) -> None:
    folders[0].wish_end(1, force=False)
    wait_for("the end of the one that was asked", lambda: statuses(folders) == [4, None])
    folders[1].wish_end(1, force=True)
    assert carrier.wait(60) == 0
    assert statuses(folders) == [4, 137]


def test_the_end_of_the_whole_job_is_not_written_as_the_end_of_a_run(
    carrier: "subprocess.Popen[bytes]", folders: list[RunFolder]
) -> None:
    """Forces the fault: Slurm sends TERM to all processes of the job, the runs' first."""
    carrier.send_signal(signal.SIGSTOP)  # it finds all of that at one look
    for step in psutil.Process(carrier.pid).children():
        step.send_signal(signal.SIGUSR2)
    carrier.terminate()
    carrier.send_signal(signal.SIGCONT)
    assert carrier.wait(60) == 128 + signal.SIGTERM
    assert statuses(folders) == [None, None]
