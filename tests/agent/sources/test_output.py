"""The files of lines of several ranks and attempts as one source: no line is lost, none is read twice, none is kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.sources import Sources, cursors, output
from tests.agent.sources.conftest import Open, append, end_output, lines_of

Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)", "rank": "any"}
COUNTED = {"kind": "output", "pattern": r"loss (?P<loss>\S+)", "rank": "any"}


def steps_of(points: Points) -> list[int]:
    return [step for step, _ in points()]


def files_in(folder: Path) -> set[str]:
    return {path.name for path in (folder / "attempts").iterdir()} - {"sources.json"}


def carry_out(sources: Sources, *, is_well: bool = True) -> None:
    """End an attempt as the agent of rank 0 does."""
    sources.finish()
    sources.end(is_well=is_well)


def test_lines_of_all_ranks_and_streams_are_read_and_deleted(open_sources: Open, folder: Path, points: Points) -> None:
    sources = open_sources(OUTPUT)
    append(lines_of(folder), "step 1 loss 0.5\nstep 2 loss 0.5\n")
    append(lines_of(folder, rank=0, kind="err"), "step 3 loss 0.5\n")
    sources.poll()
    append(lines_of(folder, rank=11), "step 4 loss 0.5\n")
    append(lines_of(folder), "step 5 loss 0.5")
    end_output(folder, ranks=12)
    carry_out(sources)
    assert sorted(steps_of(points)) == [1, 2, 3, 4, 5]
    assert files_in(folder) == set()


def test_a_line_of_1500_characters_is_found_and_of_5000_its_end(
    open_sources: Open, folder: Path, points: Points
) -> None:
    append(lines_of(folder), f"step 1 loss 0.5 {'x' * 1_480}\n{'x' * 5_000} step 2 loss 0.5\n")
    append(lines_of(folder), f"step 3 loss 0.5 {'x' * 5_000}\n")
    open_sources(OUTPUT).poll()
    assert steps_of(points) == [1, 2]


def test_matching_lines_without_a_step_count_up_in_all_files(open_sources: Open, folder: Path, points: Points) -> None:
    for attempt in (1, 2):
        sources = open_sources(COUNTED, attempt=attempt)
        for rank in range(2):
            append(lines_of(folder, attempt, rank), "loss 0.5\nloss 0.25\n")
            sources.poll()
        end_output(folder, attempt, ranks=2)
        carry_out(sources)
    assert steps_of(points) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_is_left_of_an_attempt_is_read_once_by_the_next_one(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: both agents of attempt 1 are killed, that of rank 0 before it has read the last lines."""
    sources = open_sources(COUNTED)
    append(lines_of(folder), "loss 0.1\n")
    sources.poll()
    append(lines_of(folder), "loss 0.2\n")
    append(lines_of(folder, rank=1), "loss 0.3\nloss 0.4")
    sources = open_sources(COUNTED, attempt=2)
    assert files_in(folder) == set()
    append(lines_of(folder, 2), "loss 0.5\n")
    end_output(folder, 2)
    carry_out(sources)
    open_sources(COUNTED, attempt=3)
    assert points() == [(step + 1, {"loss": loss}) for step, loss in enumerate((0.1, 0.2, 0.3, 0.5))]
    assert "1 left out; the first one is 'loss 0.4': the line has no end" in capsys.readouterr().err


def test_a_kill_between_the_cursors_and_the_deletion_has_no_line_read_twice(
    open_sources: Open, folder: Path, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: agent 0 is killed after it has stored its cursors, and before it deletes the files."""
    sources = open_sources(COUNTED)
    append(lines_of(folder), "loss 0.5\n")
    end_output(folder)
    with monkeypatch.context() as fault:
        fault.setattr(Sources, "_delete_finished", lambda _: None)
        carry_out(sources)
    assert files_in(folder) == {"1.lines-0.out", "1.lines-0.end"}
    open_sources(COUNTED, attempt=2)
    assert files_in(folder) == set()
    assert steps_of(points) == [1]


def test_the_cursors_of_files_that_are_gone_are_gone_in_the_next_attempt(open_sources: Open, folder: Path) -> None:
    sources = open_sources(OUTPUT)
    append(lines_of(folder), "step 1 loss 0.5\n")
    end_output(folder)
    carry_out(sources)
    open_sources(OUTPUT, attempt=2)
    assert cursors.read_cursors(str(folder))["0:output"] == {"step": 1, "files": {}}


def test_lines_that_a_late_agent_of_an_earlier_attempt_writes_are_not_those_of_this_attempt(
    open_sources: Open, folder: Path, points: Points
) -> None:
    """Forces the fault: an agent of attempt 1 lives on while attempt 2 is carried out."""
    sources = open_sources(OUTPUT, attempt=2)
    append(lines_of(folder, 1), "step 7 loss 0.5\n")
    append(lines_of(folder, 2), "step 1 loss 0.5\n")
    end_output(folder, 2)
    carry_out(sources)
    assert steps_of(points) == [1]
    assert files_in(folder) == {"1.lines-0.out"}


def test_the_output_is_complete_when_the_end_of_each_rank_is_read(open_sources: Open, folder: Path) -> None:
    sources = open_sources(OUTPUT)
    append(lines_of(folder), "step 1 loss 0.5\nstep 2 loss 0.5")
    sources.poll()
    assert not sources.has_output_of(1)
    end_output(folder)
    assert sources.has_output_of(1)
    assert not sources.has_output_of(2)
    append(lines_of(folder, rank=1), "step 3 loss 0.5\n")
    lines_of(folder, rank=1, kind="end").write_text("")  # as NFS may show a new file at first
    assert not sources.has_output_of(2)
    lines_of(folder, rank=1, kind="end").write_text(json.dumps({"1.out": 16, "1.err": 0}))
    assert not sources.has_output_of(2)
    sources.poll()
    assert sources.has_output_of(2)


def test_files_whose_end_is_not_known_stay_for_the_next_attempt(
    open_sources: Open, folder: Path, points: Points
) -> None:
    """Forces the fault: a rank has failed, and the agent of another host goes on for a moment."""
    sources = open_sources(OUTPUT)
    append(lines_of(folder), "step 1 loss 0.5\n")
    end_output(folder)
    append(lines_of(folder, rank=1), "step 2 loss 0.")
    carry_out(sources, is_well=False)
    assert files_in(folder) == {"1.lines-1.out"}
    append(lines_of(folder, rank=1), "25\n")
    open_sources(OUTPUT, attempt=2)
    assert points() == [(1, {"loss": 0.5}), (2, {"loss": 0.25})]
    assert files_in(folder) == set()


def test_a_file_stays_until_every_source_has_read_it(folder: Path) -> None:
    """Forces the fault: the disk is full when the points of the second source are written."""
    is_full, written = True, list[Mapping[str, Any]]()

    def emit(events: Sequence[Mapping[str, Any]]) -> bool:
        if is_full and "accuracy" in events[0]["values"]:
            return False
        written.extend(events)
        return True

    specs = [OUTPUT, {"kind": "output", "pattern": "accuracy (?P<accuracy>.*)"}]
    sources = Sources(str(folder), specs, emit, attempt=1)
    append(lines_of(folder), "step 1 loss 0.5\naccuracy 0.9\n")
    end_output(folder)
    sources.poll()
    sources.end(is_well=True)
    assert files_in(folder) == {"1.lines-0.out", "1.lines-0.end"}
    is_full = False
    Sources(str(folder), specs, emit, attempt=2)
    assert [event["values"] for event in written] == [{"loss": 0.5}, {"accuracy": 0.9}]
    assert files_in(folder) == set()


def test_a_folder_of_an_earlier_version_goes_on_where_its_log_was_read(
    open_sources: Open, folder: Path, points: Points
) -> None:
    """Forces the state: the agent of attempt 1 read the lines in the log, and was killed before the last one."""
    append(folder / "out.log", "0: loss 0.5\n0: loss 0.25\n0: loss 0.1")
    (folder / "attempts" / "sources.json").write_text(json.dumps({"0:output": {"at": 12, "step": 1}}))
    for attempt in (2, 3):
        sources = open_sources(COUNTED, attempt=attempt)
        append(folder / "out.log", f"\n0: loss 0.{attempt}\n")
        append(lines_of(folder, attempt), f"loss 0.{attempt}\n")
        end_output(folder, attempt)
        carry_out(sources)
    assert points() == [(2, {"loss": 0.25}), (3, {"loss": 0.2}), (4, {"loss": 0.3})]


def test_a_rank_that_prints_much_does_not_keep_the_others_waiting(
    open_sources: Open, folder: Path, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MIN_BYTES", 64)
    monkeypatch.setattr("agent.sources.sources.MAX_BYTES", 200)
    for rank in range(9):
        append(lines_of(folder, rank=rank), f"step {rank} loss 0.5\n" * (100 if rank < 5 else 1))
    sources = open_sources(OUTPUT)
    for _ in range(5):
        assert sources.poll()
    assert set(steps_of(points)) == set(range(9))


def test_a_folder_that_cannot_be_listed_for_a_moment_has_no_line_read_twice(
    open_sources: Open, folder: Path, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the file server does not answer in one round."""

    def fail(path: str) -> list[str]:
        raise OSError(5, "Input/output error")

    sources = open_sources(COUNTED)
    append(lines_of(folder), "loss 0.5\n")
    sources.poll()
    with monkeypatch.context() as fault:
        fault.setattr("agent.folder.output_files.os.listdir", fail)
        sources.poll()
    sources.poll()
    assert steps_of(points) == [1]
