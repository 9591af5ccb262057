"""The tools of program runs: written once, by however many workers, and kept as long as a job may use them."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scheduler.submit import tools
from scheduler.submit.tools import TOOLS, agent_folder, install_tools, tools_version


def test_the_tools_work_without_any_package(tmp_path: Path) -> None:
    install_tools(tmp_path)
    place = agent_folder(tmp_path).parent
    code = "import bigbatch; bigbatch.log(loss=1.0); print(bigbatch.__file__)"
    environment = {"PYTHONPATH": str(place / "python")}
    words = [sys.executable, "-S", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.stderr, Path(done.stdout.strip()).parent) == ("", place / "python" / "bigbatch")
    started = subprocess.run(
        [sys.executable, "-I", "-S", str(place / "agent"), "--help"], capture_output=True, text=True
    )
    assert (started.returncode, "--attempt" in started.stdout) == (0, True)


@pytest.mark.ring("all")
def test_many_workers_write_one_version_and_leave_no_draft(tmp_path: Path) -> None:
    """Forces the race: sixteen threads find no version at the same time."""
    with ThreadPoolExecutor(16) as workers:
        list(workers.map(lambda _: install_tools(tmp_path), range(16)))
    assert [path.name for path in (tmp_path / TOOLS).iterdir()] == [tools_version()]


def test_the_draft_of_a_worker_that_died_does_not_disturb(tmp_path: Path) -> None:
    """Forces the state after a kill between the first file and the rename."""
    draft = tmp_path / TOOLS / f".{tools_version()}.dead"
    (draft / "agent").mkdir(parents=True)
    install_tools(tmp_path)
    assert (agent_folder(tmp_path) / "__main__.py").read_bytes()


def test_a_version_that_no_job_can_use_is_removed_with_old_drafts_and_a_used_one_stays(tmp_path: Path) -> None:
    long_ago = time.time() - 2 * tools.UNUSED_S
    old, draft, recent = (tmp_path / TOOLS / name for name in ("0" * 16, f".{'1' * 16}.dead", "2" * 16))
    for place in (old, draft, recent):
        place.mkdir(parents=True)
    for place in (old, draft):
        os.utime(place, (long_ago, long_ago))
    install_tools(tmp_path)
    assert {path.name for path in (tmp_path / TOOLS).iterdir()} == {recent.name, tools_version()}


def test_a_submission_renews_the_time_stamp_of_its_version(tmp_path: Path) -> None:
    install_tools(tmp_path)
    place = agent_folder(tmp_path).parent
    os.utime(place, (0, 0))
    install_tools(tmp_path)
    assert time.time() - place.stat().st_mtime < tools.USED_S


def test_a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a disk that is full after the first file."""
    written: list[Path] = []

    def write(path: Path, _: bytes) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)

    monkeypatch.setattr(tools, "_write", write)
    with pytest.raises(OSError, match="No space left"):
        install_tools(tmp_path)
    assert list((tmp_path / TOOLS).iterdir()) == []


@pytest.mark.parametrize("limit", [3_000, 6_000])
def test_a_tool_that_is_written_in_part_is_an_error_and_no_version(tmp_path: Path, limit: int) -> None:
    """Forces the fault: one write ends in the middle of a file, as on a disk that becomes full."""
    code = (
        "import resource, sys; from pathlib import Path; from scheduler.submit.tools import install_tools\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "install_tools(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, "File too large" in done.stderr) == (1, True), done.stderr
    assert list((tmp_path / TOOLS).iterdir()) == []
