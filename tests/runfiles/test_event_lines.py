"""Lines of events: whole after a write of which a full disk took a part, and tried again while the disk is full."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.folder.events import event_reader
from contract.folder.run_folder import RunFolder
from runfiles import retries
from runfiles.event_lines import append_lines, append_to, open_for_lines
from runfiles.history import last_step, read_last_step
from tests.testing.hostile_files import plant
from trainers.progress.reporter import Reporter

pytestmark = pytest.mark.ring("quick")
POINT = '{"kind": "points", "attempt": 1, "at": 1.0, "step": %s, "values": %s}\n'


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let the next writes take so many bytes of the list alone."""
    taken: list[int] = []
    write = os.write

    def take(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[: taken.pop(0)] if taken else data)

    monkeypatch.setattr(os, "write", take)
    monkeypatch.setattr(retries, "EVERY_S", 0.0)
    yield taken
    monkeypatch.undo()


def test_the_line_after_one_that_a_full_disk_cut_is_whole(tmp_path: Path, part: list[int]) -> None:
    file = open_for_lines(tmp_path / "lines")
    part.append(3)
    with pytest.raises(OSError, match="only 3 of 6 bytes"):
        append_lines(file, b"first\n")
    append_lines(file, b"second\n")
    os.close(file)
    append_to(tmp_path / "lines", b"third\n")
    assert (tmp_path / "lines").read_bytes() == b"fir\nsecond\nthird\n"


def test_the_engine_reports_what_a_full_disk_rejected_once_there_is_room(
    tmp_path: Path, part: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: the next event stood behind a part of the one that was cut, and both were lost."""
    folder = RunFolder(tmp_path)
    report = Reporter(folder, 1, rank=0)
    report.points(1, {"loss": 1.0})
    part += [5, 0]
    report.points(2, {"loss": 0.5})
    first, torn, second = folder.events.read_bytes().splitlines()
    assert [event_reader.validate_json(line).model_dump()["step"] for line in (first, second)] == [1, 2]
    assert len(torn) == 5
    assert capfd.readouterr().err.count("events could not be written") == 1
    assert last_step(folder.events) == 2


def test_the_engine_fails_when_the_disk_stays_full(
    tmp_path: Path, part: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FOR_S", -1.0)
    report = Reporter(RunFolder(tmp_path), 1, rank=0)
    part.append(5)
    with pytest.raises(OSError, match="only 5 of"):
        report.points(1, {"loss": 1.0})


@pytest.mark.parametrize(
    ("step", "values"),
    [
        ("8", '{"loss": "high"}'),
        ("8", '{"loss": {}}'),
        ("8", '{"\\u0007": 1.0}'),
        ("8", "[]"),
        ("-1", '{"loss": 1.0}'),
        ("true", '{"loss": 1.0}'),
        ("8", json.dumps(dict.fromkeys(map(str, range(2_001)), 1.0))),
    ],
    ids=["text", "object", "bell", "list", "negative", "boolean", "many"],
)
def test_a_point_that_the_service_leaves_out_is_not_the_last_step(tmp_path: Path, step: str, values: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(POINT % (7, '{"loss": NaN, "other": null}') + POINT % (step, values))
    assert [last_step(path), read_last_step(path)] == [7, 7]


@pytest.mark.parametrize("kind", ["FIFO", "folder", "dangling link"])
def test_what_is_no_file_has_no_last_step(tmp_path: Path, kind: str) -> None:
    """Forces the fault: a script that resumed waited for the writer of a FIFO."""
    plant(tmp_path / "events.jsonl", kind)
    assert [last_step(tmp_path / "events.jsonl"), read_last_step(tmp_path / "events.jsonl")] == [0, None]
