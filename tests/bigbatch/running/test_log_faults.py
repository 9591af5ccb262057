"""`bigbatch.log` under faults: a full disk, torn lines, kills, forks, threads, signals, and a closed file."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bigbatch.running import line_file
from bigbatch.running.environment import RunEnvironment
from bigbatch.running.line_file import LineFile
from bigbatch.running.point_log import PointLog
from contract.folder.events import Points, event_reader
from tests.testing.scripts import environment_of, make_run_folder, run_script, start_script
from tests.testing.small_disk import small_disk

Write = Callable[[int, bytes], int]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


def open_log(folder: Path) -> PointLog:
    return PointLog(RunEnvironment(str(folder), 1, 0, 1, None))


def steps(path: Path) -> list[int]:
    """The steps of all points; every line must be a point."""
    events = [event_reader.validate_json(line) for line in path.read_bytes().splitlines()]
    return [event.step for event in events if isinstance(event, Points)]


def whole_steps(path: Path) -> list[int]:
    """The steps of all points, without the torn lines."""
    return [int(line.split(b'"step":')[1].split(b",")[0]) for line in path.read_bytes().splitlines() if _is_whole(line)]


def _is_whole(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}}")


def test_no_point_is_lost_or_doubled_on_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    """Forces the fault: a disk of one megabyte is full in the middle of a line, and has room again later."""
    with small_disk(tmp_path / "disk", 1) as disk:
        folder = make_run_folder(disk / "run")
        log = open_log(folder)
        (disk / "filler").write_bytes(b"x" * 900_000)
        written = [log.log({"loss": 0.5}, step) for step in range(3_000)]
        assert True in written
        assert not all(written)
        (disk / "filler").unlink()
        assert log.flush()
        assert log.log({"loss": 0.5}, 3_000)
        assert whole_steps(folder / "events.jsonl") == list(range(3_001))


@pytest.mark.ring("all")
def test_the_points_that_wait_need_a_bounded_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the disk is full for ever; the oldest points are lost."""
    monkeypatch.setattr(os, "write", _no_space)
    log = open_log(folder)
    assert not any(log.log({"loss": 0.5}, step) for step in range(150_000))
    assert sum(map(len, log.file.waiting)) <= line_file.MAX_WAITING_BYTES
    monkeypatch.undo()
    assert log.flush()
    found = steps(folder / "events.jsonl")
    assert found == list(range(found[0], 150_000))


def _no_space(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("size", range(1, 70, 3))
def test_a_write_that_ends_in_the_middle_of_a_line_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Forces the fault: the first write of three lines writes only so many bytes."""
    lines, real, path = [b"first line\n", b"second line, longer\n", b"third\n"], os.write, tmp_path / "lines"
    file = LineFile(str(path))
    monkeypatch.setattr(os, "write", _no_space)
    for line in lines:
        assert not file.append(line)
    monkeypatch.setattr(os, "write", lambda number, data: real(number, data[:size]))
    is_whole = file.flush(now=True)
    monkeypatch.setattr(os, "write", real)
    assert is_whole is (size >= len(b"".join(lines)))
    assert file.flush(now=True)
    found = path.read_bytes().splitlines(keepends=True)
    assert [line for line in found if line in lines] == lines


def test_a_line_that_a_killed_process_left_incomplete_is_ended_first(folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_bytes(b'{"kind":"poi')
    assert open_log(folder).log({"loss": 1.0}, 5)
    assert path.read_bytes().startswith(b'{"kind":"poi\n{"attempt"')
    assert whole_steps(path) == [5]


def test_a_line_that_another_process_left_incomplete_meanwhile_is_ended_first(folder: Path) -> None:
    """Forces the fault: the agent, which writes the same file, is killed in a write between two points."""
    path, log = folder / "events.jsonl", open_log(folder)
    assert log.log({"loss": 1.0}, 1)
    with path.open("ab") as file:
        file.write(b'{"kind":"fini')
    assert log.log({"loss": 1.0}, 2)
    assert log.log({"loss": 1.0}, 3)
    assert whole_steps(path) == [1, 2, 3]


def test_a_killed_script_loses_no_point_for_which_the_call_returned(folder: Path) -> None:
    code = """
import bigbatch
step = 0
while True:
    step += 1
    if bigbatch.log(step=step, loss=1 / step):
        print(step, flush=True)
"""
    process = start_script(code, environment_of(folder))
    assert process.stdout
    seen = [int(process.stdout.readline()) for _ in range(2_000)]
    process.kill()
    seen += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.communicate()
    found = whole_steps(folder / "events.jsonl")
    assert found[: len(seen)] == seen
    assert len(found) - len(seen) <= 1  # the one that was not yet printed


def test_threads_write_whole_lines(folder: Path) -> None:
    log, path = open_log(folder), folder / "events.jsonl"

    def write(first: int) -> None:
        for step in range(first, first + 2_000):
            assert log.log({"loss": 0.5, "name": 1.0}, step)

    threads = [threading.Thread(target=write, args=(first,)) for first in range(0, 8_000, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(steps(path)) == list(range(8_000))


def test_a_forked_process_has_a_state_of_its_own(folder: Path) -> None:
    """Forces the fault: the process forks while points wait in memory and another thread holds the lock."""
    code = """
import os, threading, time
import bigbatch
from bigbatch.running import calls
bigbatch.log(step=1, loss=1.0)
calls._points.file.enqueue(b'{"attempt":1,"at":1.0,"kind":"points","step":2,"values":{"loss":1.0}}\\n')
locked = threading.Event()
def hold():
    with calls._points._lock:
        locked.set()
        time.sleep(600)
threading.Thread(target=hold, daemon=True).start()
locked.wait()
child = os.fork()
if not child:
    os._exit(0 if bigbatch.log(step=3, loss=1.0) and bigbatch.log(loss=1.0) else 1)
assert os.waitpid(child, 0)[1] == 0
calls._points.file.flush(now=True)
os._exit(0)
"""
    run_script(code, environment_of(folder))
    assert steps(folder / "events.jsonl") == [1, 3, 4, 2]


def test_a_signal_handler_may_log_while_a_point_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the signal arrives in the middle of a write."""
    log, real, inside = open_log(folder), os.write, []

    def write(file: int, data: bytes) -> int:
        if not inside:
            inside.append(log.log({"loss": 2.0}, 2))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    log.log({"loss": 1.0}, 1)
    assert inside == [False]
    log.log({"loss": 3.0}, 3)
    assert steps(folder / "events.jsonl") == [1, 2, 3]


@pytest.mark.ring("all")
def test_signals_at_random_moments_lose_and_double_nothing(folder: Path) -> None:
    code = """
import itertools, signal
import bigbatch
steps = itertools.count(1)
bigbatch.log(step=next(steps), loss=1.0)
def handle(*_):
    bigbatch.log(step=next(steps), loss=1.0)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0003)
for _ in range(30_000):
    bigbatch.log(step=next(steps), loss=1.0)
signal.setitimer(signal.ITIMER_REAL, 0)
assert bigbatch.finish()
print(next(steps) - 1)
"""
    output, _ = run_script(code, environment_of(folder))
    assert sorted(steps(folder / "events.jsonl")) == list(range(1, int(output) + 1))


def test_a_file_that_the_script_closed_is_opened_again_and_no_other_file_is_written(folder: Path) -> None:
    """Forces the fault: the script closes all files, as a daemon does, and the number becomes another file's."""
    code = """
import os
import bigbatch
assert bigbatch.log(step=1, loss=1.0)
os.closerange(3, 100)
others = [open(f"other-{number}", "w+b", buffering=0) for number in range(5)]
assert bigbatch.log(step=2, loss=1.0)
assert bigbatch.log(step=3, loss=1.0)
assert [file.seek(0, 2) for file in others] == [0] * 5
"""
    run_script(code, environment_of(folder), cwd=folder)
    assert steps(folder / "events.jsonl") == [1, 2, 3]


@pytest.mark.parametrize("error", [28, 122, 5, 116, 9])
def test_every_error_of_the_disk_is_survived(folder: Path, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Forces the fault: the write fails as on a full disk, beyond a quota, or on a file server that is away."""

    def write(file: int, data: bytes) -> int:
        raise OSError(error, os.strerror(error))

    log = open_log(folder)
    assert log.log({"loss": 1.0}, 1)
    monkeypatch.setattr(os, "write", write)
    assert not log.log({"loss": 1.0}, 2)
    monkeypatch.undo()
    assert log.flush()
    assert log.log({"loss": 1.0}, 3)
    assert steps(folder / "events.jsonl") == [1, 2, 3]


def test_later_calls_write_what_waits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: one write finds a full disk."""
    monkeypatch.setattr(os, "write", _no_space)
    log, step = open_log(folder), 1
    assert not log.log({"loss": 1.0}, step)
    monkeypatch.undo()
    until = time.monotonic() + 60
    while not log.log({"loss": 1.0}, step := step + 1):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert steps(folder / "events.jsonl") == list(range(1, step + 1))


def test_a_call_takes_microseconds(folder: Path) -> None:
    """The bound is wide; `make bench NAME=log` measures."""
    log, durations = open_log(folder), []
    for step in range(20_000):
        began = time.perf_counter()
        log.log({"loss": 0.5}, step)
        durations.append(time.perf_counter() - began)
    assert sorted(durations)[len(durations) // 2] < 100e-6


def test_a_stopped_reader_does_not_stop_the_script(folder: Path) -> None:
    """Forces the fault: standard error is closed when a warning is due."""
    code = """
import os, signal, sys
import bigbatch
sys.stderr.close()
os.close(2)
assert bigbatch.log({"bad\\nname": 1.0, "loss": 2.0}, step=1)
"""
    run_script(code, environment_of(folder))
    assert steps(folder / "events.jsonl") == [1]


def test_the_default_handlers_of_signals_are_left_alone(folder: Path) -> None:
    code = "import bigbatch, signal; bigbatch.log(loss=1.0); print(signal.getsignal(signal.SIGTERM).name)"
    assert run_script(code, environment_of(folder))[0].strip() == signal.SIG_DFL.name
