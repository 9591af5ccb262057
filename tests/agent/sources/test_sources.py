"""Several sources over several attempts: no loss, nothing twice, and the steps that an attempt lost."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.sources import Sources, cursors
from agent.sources.point import event_of, joined
from bigbatch.injected import parts
from contract.folder.events import Event, Resumed
from runfiles import history
from tests.agent.sources.conftest import Open, lines_of
from tests.testing.event_files import append, scalars

OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)"}
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
BOARD = {"kind": "tensorboard"}
NAME = "events.out.tfevents.1700000000.host.1.0"
Events = Callable[[], list[Event]]
Points = Callable[[], list[tuple[int, dict[str, float | None]]]]


def print_steps(folder: Path, steps: range, attempt: int = 1) -> None:
    with lines_of(folder, attempt).open("a") as file:
        file.write("".join(f"step {step} loss {1 / step}\n" for step in steps))


def test_the_next_attempt_continues_where_the_last_one_was_read(
    open_sources: Open, folder: Path, events: Events
) -> None:
    """Forces the fault: the agent is killed before it has read the end of what the program wrote."""
    sources = open_sources(OUTPUT, BOARD)
    print_steps(folder, range(1, 11))
    append(folder / NAME, scalars(5, {"lr": 0.5}))
    sources.poll()
    print_steps(folder, range(11, 21))  # nobody reads these lines in this attempt
    sources = open_sources(OUTPUT, BOARD, attempt=2)
    print_steps(folder, range(13, 31), 2)
    append(folder / NAME, scalars(15, {"lr": 0.25}))
    sources.finish()
    found = [(event.attempt, event.kind, event.step) for event in events() if event.kind in ("points", "resumed")]
    losses = [
        *((1, "points", step) for step in range(1, 11)),
        (1, "points", 5),
        *((1, "points", step) for step in range(11, 21)),
        (2, "resumed", 12),
        *((2, "points", step) for step in range(13, 31)),
        (2, "points", 15),
    ]
    assert found == losses
    (resumed,) = [event for event in events() if isinstance(event, Resumed)]
    assert (resumed.step, resumed.lost_steps) == (12, 8)


def test_a_resumption_that_the_script_reported_is_not_reported_again(
    open_sources: Open, folder: Path, events: Events
) -> None:
    sources = open_sources(OUTPUT)
    print_steps(folder, range(1, 11))
    sources.finish()
    sources = open_sources(OUTPUT, attempt=2)
    told = {"kind": "resumed", "attempt": 2, "at": 1.0, "step": 4, "lost_steps": 6, "notes": []}
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps(told) + "\n")
    print_steps(folder, range(5, 8), 2)
    sources.finish()
    assert [event.lost_steps for event in events() if isinstance(event, Resumed)] == [6]


def test_points_that_could_not_be_written_are_read_again(folder: Path) -> None:
    """Forces the fault: the disk is full for two rounds."""
    answers, written = [False, False, True, True], []

    def emit(events: Sequence[Mapping[str, Any]]) -> bool:
        is_written = answers.pop(0)
        written.extend(event["step"] for event in events if is_written)
        return is_written

    sources = Sources(str(folder), [OUTPUT, LINES], emit, attempt=1)
    print_steps(folder, range(1, 4))
    for _ in range(3):
        sources.poll()
    print_steps(folder, range(4, 6))
    sources.poll()
    sources.poll()
    assert (written, answers) == ([1, 2, 3, 4, 5], [])


def test_the_last_points_wait_until_a_full_disk_has_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the disk is full when the ranks have ended, and has room a moment later."""
    answers, written = [False, False, True], []

    def emit(events: Sequence[Mapping[str, Any]]) -> bool:
        is_written = answers.pop(0)
        written.extend(event["step"] for event in events if is_written)
        return is_written

    monkeypatch.setattr("agent.sources.sources.RETRY_S", 0.01)
    sources = Sources(str(folder), [OUTPUT], emit, attempt=1)
    print_steps(folder, range(1, 4))
    sources.finish()
    assert (written, answers) == ([1, 2, 3], [])


def test_cursors_that_a_full_disk_rejected_are_stored_at_the_end(
    open_sources: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the cursors of the last lines cannot be stored while the program runs, and nothing follows."""
    sources = open_sources(OUTPUT)
    print_steps(folder, range(1, 4))
    with monkeypatch.context() as fault:
        fault.setattr(cursors.os, "replace", _no_space)
        sources.poll()
    sources.finish()
    stored = cursors.read_cursors(str(folder))["0:output"]["files"]
    assert stored == {"1.lines-0.out": lines_of(folder).stat().st_size}


def test_cursors_that_could_not_be_stored_double_no_point_in_this_attempt(
    open_sources: Open, folder: Path, points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the folder of the cursors cannot be written."""
    sources = open_sources(OUTPUT)
    print_steps(folder, range(1, 4))
    with monkeypatch.context() as fault:
        fault.setattr(cursors.os, "replace", _no_space)
        sources.poll()
    print_steps(folder, range(4, 6))
    sources.poll()
    assert [step for step, _ in points()] == [1, 2, 3, 4, 5]
    assert {path.name for path in (folder / "attempts").iterdir()} == {"1.lines-0.out", "sources.json"}
    open_sources(OUTPUT, attempt=2).poll()
    assert [step for step, _ in points()] == [1, 2, 3, 4, 5]


def _no_space(*paths: str) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("text", ["", "[1]", '{"0:output": {"at": ', '{"0:output": 5}'])
def test_damaged_cursors_read_all_again(open_sources: Open, folder: Path, points: Points, text: str) -> None:
    print_steps(folder, range(1, 4))
    (folder / "attempts" / "sources.json").write_text(text)
    open_sources(OUTPUT).poll()
    assert [step for step, _ in points()] == [1, 2, 3]


@pytest.mark.ring("all")
def test_one_round_is_bounded_and_the_end_is_read_in_several(open_sources: Open, folder: Path, points: Points) -> None:
    print_steps(folder, range(1, 100_001))
    sources = open_sources(OUTPUT)
    assert sources.poll()
    assert len(points()) < 100_000
    sources.finish()
    assert [step for step, _ in points()] == list(range(1, 100_001))


def test_neighbors_of_one_step_are_one_event() -> None:
    from agent.sources.point import Point

    points = [Point(1, {"a": 1.0}, 1.0), Point(1, {"b": 2.0}, 2.0), Point(2, {"a": 3.0}, 3.0)]
    assert [(point.step, point.values) for point in joined(points)] == [(1, {"a": 1.0, "b": 2.0}), (2, {"a": 3.0})]
    assert event_of(points[0], 1)["values"] == {"a": 1.0}


def test_the_metrics_that_the_agent_knows_as_measured_are_those_of_the_time_split() -> None:
    assert {*parts.TIME_PARTS, parts.SLOWEST_RANK} == history.OWN_METRICS
