"""The pump of the output of ranks: whole lines of each stream in a file of its own, all bytes to its own output."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.folder.run_folder import RunFolder as AgentFolder
from agent.ranks import line_writer, output_pump
from agent.ranks.line_writer import LONGEST, LineWriter
from agent.ranks.output_pump import OutputPump
from tests.testing.servers import wait_for
from tests.testing.small_disk import small_disk

Ends = list[tuple[int, int]]


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    (tmp_path / "attempts").mkdir()
    return AgentFolder(tmp_path)


@contextmanager
def pumping(folder: AgentFolder, ranks: int = 1) -> Iterator[Ends]:
    """Let a pump carry the output of ranks, whose ends of the pipes are closed afterwards."""
    pump = OutputPump(folder, 1)
    ends = [pump.connect(rank) for rank in range(ranks)]
    pump.start()
    try:
        yield ends
    finally:
        for pair in ends:
            for end in pair:
                os.close(end)
    pump.finish(None)


@contextmanager
def showing(path: Path) -> Iterator[Path]:
    """Let this process's own output and errors go to a file, which may be read while the pump writes.

    Pytest's own files lose what is written while they are read and emptied.
    """
    before = [os.dup(stream) for stream in (1, 2)]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for stream in (1, 2):
            os.dup2(file, stream)
        yield path
    finally:
        for stream, own in zip((1, 2), before, strict=True):
            os.dup2(own, stream)
            os.close(own)
        os.close(file)


def lines_of(folder: AgentFolder, rank: int = 0, kind: str = "out") -> bytes:
    path = folder.attempts / f"1.lines-{rank}.{kind}"
    return path.read_bytes() if path.exists() else b""


def test_streams_that_write_halves_of_lines_in_turn_do_not_split_each_other(
    folder: AgentFolder, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pumping(folder, 2) as ((out, err), (other, _)):
        for step in range(50):
            for half in (b"step %d lo" % step, b"ss 0.%d\n" % step):
                for end in (out, err, other):
                    os.write(end, half)
    expected = b"".join(b"step %d loss 0.%d\n" % (step, step) for step in range(50))
    assert lines_of(folder) == lines_of(folder, 0, "err") == lines_of(folder, 1) == expected
    assert [len(part) for part in capfdbinary.readouterr()] == [2 * len(expected), len(expected)]
    stored = json.loads((folder.attempts / "1.lines-0.end").read_text())
    assert stored == {"0.out": len(expected), "0.err": len(expected), "1.out": len(expected), "1.err": 0}
    assert not (folder.attempts / "1.lines-1.err").exists()


@pytest.mark.parametrize("length", [1_500, 5_000, 3 * LONGEST])
def test_long_lines_stay_whole(folder: AgentFolder, length: int) -> None:
    line = b"x" * length + b" step 1 loss 0.5\n"
    with pumping(folder) as ((out, _),):
        for _ in range(20):
            assert os.write(out, line) == len(line)
    assert lines_of(folder) == line * 20


def test_a_part_of_a_line_is_shown_at_once_and_waits_for_its_end(folder: AgentFolder) -> None:
    with showing(folder.path / "shown") as shown, pumping(folder) as ((out, _),):
        os.write(out, b"step 1 loss 0.5\nstep 2 loss 0.")
        wait_for("the part", lambda: shown.read_bytes().endswith(b"loss 0."))
        assert lines_of(folder) == b"step 1 loss 0.5\n"
    assert lines_of(folder) == b"step 1 loss 0.5\nstep 2 loss 0."
    assert json.loads((folder.attempts / "1.lines-0.end").read_text())["0.out"] == 16


def test_a_process_that_holds_the_pipe_does_not_hold_up_the_end(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a process that the agent cannot find has the pipe still, when the rank has ended."""
    monkeypatch.setattr(output_pump, "HELD_S", 0.05)
    monkeypatch.setattr(output_pump, "POLL_S", 0.01)
    with pumping(folder) as ((out, _),):
        held = os.dup(out)
        os.write(out, b"step 1 loss 0.5\nstep 2 loss 0.5")
    assert lines_of(folder) == b"step 1 loss 0.5\nstep 2 loss 0.5"
    assert (folder.attempts / "1.lines-0.end").exists()
    with pytest.raises(BrokenPipeError):
        os.write(held, b"late\n")
    os.close(held)


class FullDisk:
    """A disk that takes some bytes more, and then none before so many writes have failed."""

    def __init__(self, room: int, failures: float) -> None:
        self.room, self.failures = room, failures

    def pwrite(self, file: int, data: bytes, offset: int, write: object = os.pwrite) -> int:
        assert callable(write)
        if self.failures <= 0:
            return int(write(file, data, offset))
        if self.room <= 0:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        done = int(write(file, data[: self.room], offset))
        self.room -= done
        return done


def test_lines_wait_while_the_disk_is_full(folder: AgentFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the disk takes a line and a half, and has room again some tries later."""
    monkeypatch.setattr(output_pump, "RETRY_EVERY_S", 0.01)
    monkeypatch.setattr(line_writer.os, "pwrite", FullDisk(24, 3).pwrite)
    lines = b"".join(b"step %d loss 0.5\n" % step for step in range(10))
    with pumping(folder) as ((out, _),):
        os.write(out, lines)
    assert lines_of(folder) == lines


def test_lines_that_a_full_disk_rejects_for_a_minute_are_given_up_and_none_is_cut(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk takes "step 0 loss 0.0" of a line, and has no room for a minute."""
    disk = FullDisk(16 + 15, float("inf"))
    monkeypatch.setattr(output_pump, "RETRY_S", 0.0)
    monkeypatch.setattr(line_writer.os, "pwrite", disk.pwrite)
    with showing(folder.path / "shown") as shown, pumping(folder) as ((out, _),):
        os.write(out, b"step 0 loss 0.5\nstep 0 loss 0.001\nstep 1 loss 0.001\nstep 2 lo")
        wait_for("the first lines", lambda: b"step 2 lo" in shown.read_bytes())
        os.write(out, b"ss 0.5\nstep 3 loss 0.5\n")
        wait_for("the next lines", lambda: b"step 3 loss 0.5\n" in shown.read_bytes())
        disk.failures = 0
        os.write(out, b"step 4 loss 0.5\n")
    assert lines_of(folder) == b"step 0 loss 0.5\nstep 4 loss 0.5\n"
    assert json.loads((folder.attempts / "1.lines-0.end").read_text())["0.out"] == 32


def test_a_full_disk_is_said_once(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: no write of lines succeeds."""
    monkeypatch.setattr(output_pump, "RETRY_S", 0.0)
    monkeypatch.setattr(line_writer.os, "pwrite", FullDisk(0, float("inf")).pwrite)
    with pumping(folder, 3) as ends:
        for out, err in ends:
            os.write(out, b"step 1 loss 0.5\n")
            os.write(err, b"step 1 loss 0.5\n")
    assert capsys.readouterr().err.count("lines of rank") == 1


def test_a_line_that_was_written_in_part_and_given_up_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk takes "step 2 loss 0.0" of a line, and nothing more before the end."""
    writer = LineWriter(str(tmp_path / "lines"))
    monkeypatch.setattr(line_writer.os, "pwrite", FullDisk(16 + 15, float("inf")).pwrite)
    writer.take(b"step 1 loss 0.5\nstep 2 loss 0.001\n")
    with pytest.raises(OSError, match="No space"):
        writer.write()
    writer.give_up()
    assert not writer.write(is_end=True)
    assert (tmp_path / "lines").read_bytes() == b"step 1 loss 0.5\n"
    assert writer.end_of_lines == 16


class Clock:
    """A clock that goes on when somebody waits."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_file_that_cannot_be_written_holds_the_program_up_for_one_minute(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a folder has the name of a rank's file, while the other files can be written."""
    clock = Clock()
    monkeypatch.setattr(output_pump, "time", clock)
    (folder.attempts / "1.lines-0.out").mkdir()

    with showing(folder.path / "shown") as shown, pumping(folder) as ((out, err),):
        for step in range(5):
            for end, name in ((out, b"output"), (err, b"error")):
                os.write(end, b"%s %d\n" % (name, step))
                wait_for("the line", lambda text=b"%s %d\n" % (name, step): text in shown.read_bytes())
    assert 60 <= clock.now < 65
    assert lines_of(folder, 0, "err") == b"".join(b"error %d\n" % step for step in range(5))


def test_the_rest_of_a_long_line_that_was_given_up_is_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: a part of a line that is longer than the memory for it cannot be written."""
    writer = LineWriter(str(tmp_path / "lines"))
    disk = FullDisk(0, float("inf"))
    monkeypatch.setattr(line_writer.os, "pwrite", disk.pwrite)
    writer.take(b"x" * LONGEST)
    with pytest.raises(OSError, match="No space"):
        writer.write()
    writer.give_up()
    disk.failures = 0
    writer.take(b"step 1 loss 0.5")
    writer.take(b"01\nstep 2 loss 0.5\n")
    assert writer.write()
    assert (tmp_path / "lines").read_bytes() == b"step 2 loss 0.5\n"


@pytest.mark.ring("all")
def test_a_real_disk_that_was_full_has_every_line_once(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        writer, filler = LineWriter(str(disk / "lines")), disk / "filler"
        filler.write_bytes(b"x" * (900 << 10))
        lines = b"".join(b"step %d loss 0.5\n" % step for step in range(20_000))
        writer.take(lines)
        with pytest.raises(OSError, match="No space"):
            writer.write()
        filler.unlink()
        writer.take(b"the last line\n")
        assert writer.write()
        assert (disk / "lines").read_bytes() == lines + b"the last line\n"
        assert writer.end_of_lines == len(lines) + 14


def test_a_late_process_does_not_make_a_file_anew_that_was_read_and_deleted(tmp_path: Path) -> None:
    writer = LineWriter(str(tmp_path / "lines"))
    writer.take(b"step 1 loss 0.5\n")
    assert writer.write()
    (tmp_path / "lines").unlink()
    writer.take(b"step 2 loss 0.5\n")
    with pytest.raises(FileNotFoundError):
        writer.write()
    assert not (tmp_path / "lines").exists()
