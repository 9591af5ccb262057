"""The end of a file is read backwards once, whatever a program wrote there: by agents, scripts and the engine."""

import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from agent.folder.events import EventWriter
from agent.folder.run_folder import RunFolder
from runfiles import history, lines_backwards

Read = Callable[[IO[bytes], int], Iterator[bytes]]
POINTS = b'{"kind": "points", "attempt": 1, "at": 1.0, "step": 7, "values": {"loss": 1.0}}\n'


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Read:
    """A reader with blocks of 16 bytes and lines of at most 40."""
    monkeypatch.setattr(lines_backwards, "BLOCK_BYTES", 16)
    monkeypatch.setattr(lines_backwards, "LONGEST", 40)
    return lines_backwards.lines_backwards


class Counted(io.BytesIO):
    """A file that counts the bytes that are read."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.count += len(found)
        return found


def test_the_lines_are_those_of_the_file_without_the_longest(small: Read) -> None:
    draw = random.Random(7)
    for _ in range(300):
        content = b"".join(draw.choice([b"a", b"bc", b"\n", b"d" * 15]) for _ in range(draw.randrange(40)))
        whole = [line for line in reversed(content.split(b"\n")) if len(line) <= 40]
        assert [line for line in small(io.BytesIO(content), 10_000) if line] == [line for line in whole if line], (
            content
        )


def test_a_line_that_begins_before_the_searched_bytes_is_left_out(small: Read) -> None:
    assert list(small(io.BytesIO(b"first\nsecond\nthird"), 12)) == [b"third"]


def test_each_byte_is_read_once(small: Read) -> None:
    """Forces the fault: one line has nearly all of the file; each block was joined with all that came after it."""
    file = Counted(b"first\n" + b"x" * 100_000 + b"\nlast")
    assert [line for line in small(file, 1 << 30) if line] == [b"last", b"first"]
    assert file.count == len(file.getvalue())


def test_the_last_step_is_found_before_a_line_of_many_megabytes(tmp_path: Path) -> None:
    """Forces the fault: the program wrote 500 MB without a line end after its points; its end took minutes."""
    path = tmp_path / "events.jsonl"
    with path.open("wb") as file:
        file.write(POINTS)
        file.truncate(100 << 20)
    assert EventWriter(RunFolder(tmp_path), 2).last_step() == 7
    assert history.last_step(path) == 7


def test_the_last_step_is_searched_at_the_end_of_the_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(POINTS + b"x" * 1_000 + b"\n")
    monkeypatch.setattr(history, "SEARCHED_BYTES", 500)
    assert EventWriter(RunFolder(tmp_path), 2).last_step() == 0
    assert history.last_step(path) == 0
