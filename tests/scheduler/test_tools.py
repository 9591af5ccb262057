"""The tools of program runs: written once, by however many workers, and kept as long as a job may use them."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract.access.owners import OURS, Examined, UnsafeFolderError
from contract.access.service_folders import TOOLS
from scheduler.submit import tools
from scheduler.submit.tools import agent_folder, install_tools, tools_version
from tests.testing.hostile_files import IRREGULAR, plant
from tests.testing.other_user import open_folder_of_tests, run_as_other_user


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


PLANT = """
import os, sys
os.makedirs(sys.argv[1])
open(sys.argv[1] + "/__main__.py", "w").write("print('planted')")
"""


def run_agent(runs: Path) -> str:
    """Start the agent as a job does; return what it prints."""
    words = [sys.executable, "-I", "-S", str(agent_folder(runs)), "--help"]
    return subprocess.run(words, capture_output=True, text=True).stdout


def test_no_program_that_another_user_has_put_there_is_executed() -> None:
    """The attack: the folder of the runs is open, and the place of the tools depends on public source alone."""
    with open_folder_of_tests() as folder:
        runs = folder / "runs"
        runs.mkdir()
        runs.chmod(0o777)
        run_as_other_user(PLANT, agent_folder(runs))
        assert run_agent(runs) == "planted\n"
        with pytest.raises(UnsafeFolderError, match="/runs can be written by every user"):
            install_tools(runs)
        runs.chmod(0o755)
        with pytest.raises(UnsafeFolderError, match=r"/\.tools belongs to the user nobody"):
            install_tools(runs)
        os.chown(runs / TOOLS, 0, 0)
        install_tools(runs)
        assert "--attempt" in run_agent(runs)
        assert [path.name for path in (runs / TOOLS).iterdir()] == [tools_version()]


@pytest.mark.parametrize("name", ["agent/__main__.py", "python/sitecustomize.py", "agent/more.py"])
def test_a_version_with_another_content_is_replaced(tmp_path: Path, name: str) -> None:
    install_tools(tmp_path)
    place = agent_folder(tmp_path).parent
    right = (place / "agent" / "__main__.py").read_bytes()
    (place / name).write_text("another")
    install_tools(tmp_path)
    assert (place / "agent" / "__main__.py").read_bytes() == right
    assert (place / name).read_bytes() != b"another" if (place / name).exists() else name.endswith("more.py")


def test_what_python_compiled_of_the_tools_is_removed_alone_where_others_can_change_it(tmp_path: Path) -> None:
    """Forces the state: jobs with a umask of 002 compiled the tools, and the worker has begun again."""
    install_tools(tmp_path)
    place = agent_folder(tmp_path).parent
    inode, compiled = place.stat().st_ino, place / "agent" / "__pycache__"
    (compiled / "attempt.cpython-311.pyc").write_bytes(b"")
    install_tools(tmp_path)
    assert (compiled / "attempt.cpython-311.pyc").exists()
    for path, mode in ((compiled / "attempt.cpython-311.pyc", 0o666), (compiled, 0o777)):
        (compiled / "attempt.cpython-311.pyc").write_bytes(b"planted")
        path.chmod(mode)
        install_tools(tmp_path)
        assert (list(compiled.iterdir()), compiled.stat().st_mode & 0o777) == ([], 0o755)
    assert place.stat().st_ino == inode  # jobs use it


def test_jobs_with_an_open_umask_compile_the_tools_into_folders_that_only_the_service_can_write(tmp_path: Path) -> None:
    install_tools(tmp_path)
    words = ["sh", "-c", f"umask 000; exec {sys.executable} -I -S {agent_folder(tmp_path)} --help"]
    subprocess.run(words, check=True, capture_output=True)
    compiled = [path for path in agent_folder(tmp_path).rglob("*") if "__pycache__" in str(path)]
    assert any(path.suffix == ".pyc" for path in compiled)
    assert [path for path in compiled if path.stat().st_mode & 0o022] == []


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_folder_is_replaced(tmp_path: Path, kind: str) -> None:
    (tmp_path / TOOLS).mkdir()
    plant(agent_folder(tmp_path).parent, kind)
    install_tools(tmp_path)
    assert "--attempt" in run_agent(tmp_path)


def test_a_worker_reads_a_version_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examined, read = set[Examined](), []
    content = tools._content
    monkeypatch.setattr(tools, "_content", lambda place: read.append(place) or content(place))
    for _ in range(3):
        install_tools(tmp_path, OURS, examined)
    assert len(read) == 1
