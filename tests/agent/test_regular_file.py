"""Fault: a program leaves FIFOs, links and huge files under the names that the agent reads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGALRM, alarm, signal

import pytest

from agent.folder.events import EventWriter
from agent.folder.rank_ends import RankEnd, record_end
from agent.folder.run_folder import RunFolder
from agent.sources.cursors import read_cursors
from agent.sources.growing_file import Lines, read_lines
from agent.sources.records import Records, read_records
from runfiles.claim import UNREADABLE
from tests.testing.programs import program_folder

HUGE = 1 << 40  # of a sparse file, which takes no space
LIMIT_S = 60  # an open that waits for a FIFO's writer never ends


@contextmanager
def limited() -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def end(*_: object) -> None:
        raise AssertionError("the agent waits for the writer of a FIFO")

    before = signal(SIGALRM, end)
    alarm(LIMIT_S)
    try:
        yield
    finally:
        alarm(0)
        signal(SIGALRM, before)


def put(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/etc/hostname")
    else:
        with path.open("wb") as file:
            file.truncate(HUGE)


@pytest.mark.parametrize("kind", ["fifo", "link", "huge"])
def test_the_agents_own_record_replaces_what_is_no_record(tmp_path: Path, kind: str) -> None:
    folder = program_folder(tmp_path, "true")
    put(folder.path / "attempts" / "1.rank-0.json", kind)
    with limited():
        record_end(RunFolder(folder.path), 1, RankEnd(0, "a", 3), is_shared=False)
    assert [one.reason for one in folder.read_rank_failures(1)] == ["rank 0 on a: left with status 3"]


@pytest.mark.parametrize("kind", ["fifo", "link", "huge"])
def test_a_claim_that_is_no_claim_is_unreadable(tmp_path: Path, kind: str) -> None:
    folder = RunFolder(program_folder(tmp_path, "true").path)
    put(folder.attempts / "2.json", kind)
    with limited():
        assert folder.read_claim(2) == UNREADABLE


def test_no_source_of_metrics_waits_for_a_fifo(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true").path
    put(folder / "metrics.jsonl", "fifo")
    put(folder / "attempts" / "sources.json", "fifo")
    put(folder / "events.jsonl", "fifo")
    path = str(folder / "metrics.jsonl")
    with limited():
        assert read_lines(path, 0, 1000) == Lines([], 0, False)
        assert read_records(path, 0, 1000) == Records([], 0, False)
        assert read_cursors(str(folder)) == {}
        assert EventWriter(RunFolder(folder), 1).last_step() == 0
