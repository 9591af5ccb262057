"""What rank 0 reads of all ranks' tables, and what it reports to the run's events."""

import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from bigbatch.injected.times import points as times_points
from bigbatch.injected.times import rank_tables, table_file
from bigbatch.injected.times.merge import Merged
from bigbatch.injected.times.points import LOGGING, Points
from bigbatch.injected.times.rank_tables import RankTables
from bigbatch.injected.times.table_file import TableFile, format_row
from contract.folder.events import Points as PointsEvent
from contract.folder.events import event_reader
from contract.folder.rank_times import read_rank_times

TWO = Merged(3, 4, {0: (1.0, 0.0, 2.0, 0.0, 1.0), 1: (2.0, 0.0, 2.0, 0.0, 0.0)}, slowest=1)


def row(rank: int, step: int, attempt: int = 1) -> str:
    return format_row(attempt, (step, step), rank, [0.1, 0.2, 0.3, 0.4, 0.0])


def points_in(folder: Path) -> list[PointsEvent]:
    events = [event_reader.validate_json(line) for line in (folder / "events.jsonl").read_text().splitlines() if line]
    return [event for event in events if isinstance(event, PointsEvent)]


def test_the_api_reads_what_the_table_has(tmp_path: Path) -> None:
    TableFile(str(tmp_path / "times.csv")).append([row(0, 5), row(1, 5)])
    TableFile(str(tmp_path / "times.csv")).append([row(0, 6), row(1, 6)])
    times = read_rank_times(tmp_path, "times.csv")
    assert times is not None
    assert (times.first_step, times.last_step, [one.rank for one in times.ranks]) == (5, 6, [0, 1])
    assert times.ranks[1].seconds["communication_s"] == 0.3


def test_a_table_ends_a_torn_row_and_has_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "MAX_BYTES", 4000)
    monkeypatch.setattr(table_file, "LAST_BYTES", 1000)
    path = tmp_path / "times.csv"
    path.write_text(f"{table_file.HEADER}1,2,3")
    for step in range(500):
        TableFile(str(path)).append([row(0, step)])
        assert path.stat().st_size < 4200
    lines = path.read_text().splitlines()
    assert lines[0] == table_file.HEADER.strip()
    assert lines[-1] == row(0, 499)
    assert all(len(line.split(",")) == 9 for line in lines)


def test_a_table_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "times.csv").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        TableFile(str(tmp_path / "times.csv")).append([row(0, 1)])
    assert not (tmp_path / "other").exists()


def test_rank_0_merges_rows_as_they_come(tmp_path: Path) -> None:
    tables = RankTables(str(tmp_path), attempt=2, world=2)
    TableFile(str(tmp_path / "rank-0.csv")).append([row(0, 1, 2), row(0, 2, 2)])
    assert tables.take_merged() == []
    TableFile(str(tmp_path / "rank-1.csv")).append([row(1, 7, attempt=1), row(1, 1, 2)])
    assert [one.last for one in tables.take_merged()] == [1]
    with (tmp_path / "rank-1.csv").open("a") as table:
        table.write(row(1, 2, 2))  # without its end: not yet whole
    assert tables.take_merged() == []
    with (tmp_path / "rank-1.csv").open("a") as table:
        table.write("\n")
    assert [one.last for one in tables.take_merged()] == [2]


def test_a_shortened_table_is_read_on_without_repetition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "MAX_BYTES", 1000)
    monkeypatch.setattr(table_file, "LAST_BYTES", 500)
    tables, seen = RankTables(str(tmp_path), attempt=1, world=1), []
    for step in range(1, 101):
        TableFile(str(tmp_path / "rank-0.csv")).append([row(0, step)])
        seen += [one.last for one in tables.take_merged()]
    assert seen == [*range(1, 101)]


def test_a_rank_that_writes_nothing_does_not_stop_the_other_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = RankTables(str(tmp_path), attempt=1, world=2)
    TableFile(str(tmp_path / "rank-0.csv")).append([row(0, 1)])
    assert tables.take_merged() == []
    later = time.monotonic() + rank_tables.SILENT_S + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    TableFile(str(tmp_path / "rank-0.csv")).append([row(0, 2)])
    assert [(one.last, [*one.ranks]) for one in tables.take_merged()] == [(1, [0]), (2, [0])]


@pytest.fixture(autouse=True)
def without_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests has loaded everything; a program without `bigbatch` has not."""
    monkeypatch.delitem(sys.modules, LOGGING, raising=False)
    for module in [*sys.modules.values()]:
        if getattr(module, "__dict__", {}).get("bigbatch") is sys.modules["bigbatch"]:
            monkeypatch.delattr(module, "bigbatch")


def test_points_are_the_means_over_the_ranks(tmp_path: Path) -> None:
    Points(str(tmp_path), attempt=1).report([TWO])
    (event,) = points_in(tmp_path)
    assert (event.attempt, event.step) == (1, 4)
    assert event.values == {
        "compute_s": 1.5,
        "update_s": 0.0,
        "communication_s": 2.0,
        "input_s": 0.0,
        "idle_s": 0.5,
        "slowest_rank": 1.0,
    }


def test_points_stand_at_the_programs_own_steps(tmp_path: Path) -> None:
    own = {"kind": "points", "attempt": 2, "at": 1.0, "step": 7000, "values": {"loss": 1.0}}
    (tmp_path / "events.jsonl").write_text(f"{json.dumps({**own, 'attempt': 1, 'step': 9999})}\n{json.dumps(own)}\n")
    points = Points(str(tmp_path), attempt=2)
    points.report([TWO])
    with (tmp_path / "events.jsonl").open("a") as events:
        events.write(f"{json.dumps({**own, 'step': 7100})}\n")
    points.report([TWO])
    assert [event.step for event in points_in(tmp_path) if "compute_s" in event.values] == [7000, 7100]


def test_points_of_a_program_without_steps_count_on_after_a_restart(tmp_path: Path) -> None:
    Points(str(tmp_path), attempt=1).report([TWO])
    Points(str(tmp_path), attempt=2).report([TWO])
    assert [event.step for event in points_in(tmp_path)] == [4, 8]


@pytest.mark.parametrize("by", ["logging", "import", "metrics"])
def test_no_points_come_before_those_of_a_program_that_reports_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Points of an own count would be taken for steps of the program, and its next attempt for one that lost steps."""
    if by == "logging":
        monkeypatch.setitem(sys.modules, LOGGING, ModuleType(LOGGING))
    elif by == "import":
        program = ModuleType("program")
        monkeypatch.setattr(program, "bigbatch", sys.modules["bigbatch"], raising=False)
        monkeypatch.setitem(sys.modules, "program", program)
    else:
        (tmp_path / "spec.json").write_text('{"metrics": [{"kind": "tensorboard"}]}')
    Points(str(tmp_path), attempt=1).report([TWO])
    assert not (tmp_path / "events.jsonl").exists()


def test_the_modules_are_looked_through_again_when_one_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(times_points, "_is_imported", lambda: bool(looks.append(1)))
    monkeypatch.setattr(times_points, "LOOK_AGAIN_S", 1e9)
    points = Points(str(tmp_path), attempt=1)
    for _ in range(5):
        points.report([TWO])
    assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
    points.report([TWO])
    assert len(looks) == 2
    monkeypatch.setattr(sys.modules["__main__"], "a_new_name", 1, raising=False)
    points.report([TWO])
    assert len(looks) == 3


def test_points_end_a_torn_line(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"kind": "poi')
    Points(str(tmp_path), attempt=1).report([TWO])
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 2
