"""Runs that share a job, of programs and of the engine: what one of them leaves in its folder disturbs no other."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.spec.program.run import ProgramSpec
from runfiles import packed
from tests.testing.hostile_files import plant
from tests.testing.programs import AGENT

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def folders(tmp_path: Path) -> list[RunFolder]:
    made = [RunFolder.of(tmp_path, number, "cafe") for number in (1, 2)]
    for folder in made:
        folder.prepare(ProgramSpec.model_validate({"command": ["true"]}).model_dump(mode="json"), 1)
    ArrayFolder.of(tmp_path, "pack").link_packs({0: dict(enumerate(made))})
    return made


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return ArrayFolder.of(tmp_path, "pack").path / "0"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Poll fast, and restore the signal handlers afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR2)}
    monkeypatch.setattr(packed, "POLL_S", 0.02)
    monkeypatch.setattr(packed, "JOB_END_WAIT_S", 0.1)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_agent_packs_the_runs_of_programs(task: Path, folders: list[RunFolder]) -> None:
    command = ["sh", "-c", "echo $BIGBATCH_MEMBER {}"]
    words = ["-I", "-S", str(AGENT), str(task), "--attempt", "1", "--pack", "--", *command]
    assert subprocess.run([sys.executable, *words]).returncode == 0
    assert [folder.read_part_exit(1) for folder in folders] == [0, 0]
    assert folders[1].log.read_text().split() == ["1", str(task / "1")]


@pytest.mark.parametrize("kind", ["FIFO", "link to a file", "dangling link", "folder"])
def test_a_log_that_is_no_file_holds_up_no_other_run(task: Path, folders: list[RunFolder], kind: str) -> None:
    """Forces the fault: the packer waited for a reader of the FIFO that a run had put in the place of its log."""
    plant(folders[0].log, kind)
    assert packed.run_packed(task, 1, ["sh", "-c", "echo {}"]) == 0
    assert [folder.read_part_exit(1) for folder in folders] == [packed.COMMAND_NOT_FOUND, 0]
    assert not (folders[0].path / "nowhere").exists()


@pytest.mark.parametrize("text", ["", "ended", "256"])
def test_an_exit_status_that_cannot_be_read_is_none(task: Path, folders: list[RunFolder], text: str) -> None:
    """Forces the fault: the packer of programs took any text for the exit status of a run that had ended."""
    (folders[0].path / "attempts" / "1.end").write_text(text)
    assert packed.run_packed(task, 1, ["sh", "-c", "echo $BIGBATCH_MEMBER"]) == 0
    assert [folder.log.read_text() for folder in folders] == ["0\n", "1\n"]
