"""JSON lines and the program's output as sources of metrics."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.sources.growing_file import MAX_LINE_BYTES
from tests.agent.sources.conftest import Open, append, lines_of

Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\S+): loss (?P<loss>\S+)( accuracy (?P<accuracy>\S+)%)?"}


@pytest.mark.parametrize(
    ("line", "point"),
    [
        ('{"step": 3, "loss": 0.5}', (3, {"loss": 0.5})),
        ('{"step": 3.0, "loss": 1}', (3, {"loss": 1.0})),
        ('{"loss": 0.5, "train": {"accuracy": 1, "name": "x"}}', (1, {"loss": 0.5, "train/accuracy": 1.0})),
        ('{"step": 3, "loss": NaN, "done": true}', (3, {"loss": float("nan")})),
        ('{"step": 3, "loss": 1' + "0" * 400 + "}", (3, {"loss": float("inf")})),
        ('{"step": "3", "loss": 1}', (3, {"loss": 1.0})),
        ('{"step": "3.0", "loss": "0.5", "name": "x", "commit": "12e4567"}', (3, {"loss": 0.5})),
        ('{"step": 3, "loss": -1' + "0" * 400 + "}", (3, {"loss": float("-inf")})),
        ('{"step": 7.5, "loss": 1}', None),
        ('{"step": "7%", "loss": 1}', None),
        ('{"step": true, "loss": 1}', None),
        ('{"step": 2147483648, "loss": 1}', None),
        ('{"step": -1, "loss": 1}', None),
        ('{"step": 1}', None),
        ("[1, 2]", None),
        ("not JSON", None),
        ('{"loss": 1', None),
        ("[" * 5_000, None),
        ('{"a\\u0000b": 1}', None),
    ],
)
def test_each_line_with_a_number_is_a_point(
    open_sources: Open, folder: Path, points: Points, line: str, point: tuple[int, dict[str, float | None]] | None
) -> None:
    append(folder / "metrics.jsonl", f"{line}\n")
    open_sources(LINES).poll()
    assert str(points()) == str([] if point is None else [point])


def test_lines_without_a_step_count_up_in_later_attempts_too(open_sources: Open, folder: Path, points: Points) -> None:
    for attempt in (1, 2):
        sources = open_sources(LINES, attempt=attempt)
        append(folder / "metrics.jsonl", '{"loss": 1}\n{"loss": 1}\n')
        sources.poll()
    assert [step for step, _ in points()] == [1, 2, 3, 4]


def test_the_field_of_the_step_has_a_name_of_its_own(open_sources: Open, folder: Path, points: Points) -> None:
    append(folder / "metrics.jsonl", '{"global_step": 7, "loss": 1}\n')
    open_sources(LINES | {"step": "global_step"}).poll()
    assert points() == [(7, {"loss": 1.0})]


def test_a_line_is_read_once_it_is_whole(open_sources: Open, folder: Path, points: Points) -> None:
    sources, line = open_sources(LINES), '{"step": 1, "loss": 0.5}\n'
    for character in line:
        assert points() == []
        append(folder / "metrics.jsonl", character)
        sources.poll()
    assert points() == [(1, {"loss": 0.5})]


def test_a_line_without_an_end_takes_no_memory_and_hides_nothing(
    open_sources: Open, folder: Path, points: Points
) -> None:
    append(folder / "metrics.jsonl", "x" * (5 << 20) + '\n{"step": 1, "loss": 0.5}\n' + " " * MAX_LINE_BYTES)
    open_sources(LINES).finish()
    assert points() == [(1, {"loss": 0.5})]


def test_a_file_that_is_written_anew_is_read_anew(open_sources: Open, folder: Path, points: Points) -> None:
    sources = open_sources(LINES)
    append(folder / "metrics.jsonl", '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.5}\n')
    sources.poll()
    (folder / "metrics.jsonl").write_text('{"step": 3, "loss": 0.25}\n')
    sources.poll()
    assert [step for step, _ in points()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "point"),
    [
        ("step 3: loss 0.5", (3, {"loss": 0.5})),
        ("0: step 1,024: loss 1e-3 accuracy 97.5%", (1024, {"loss": 1e-3, "accuracy": 97.5})),
        ("step 3: loss nan", (3, {"loss": float("nan")})),
        ("step 3: loss 91%", (3, {"loss": 91.0})),
        ("step 3: loss 0.5, 7 s left", (3, {"loss": 0.5})),
        ("\x1b[1mstep \x1b[36m3\x1b[0m: loss \x1b[38;5;196m0.5\x1b[0m", (3, {"loss": 0.5})),
        ("\x1b]0;a title\x07step 3: loss 0.5\x1b[K", (3, {"loss": 0.5})),
        ("step 3: loss 0,5", None),
        ("step 7.5: loss 0.5", None),
        ("step 3: loss high accuracy 1%", (3, {"accuracy": 1.0})),
        ("step x: loss 0.5", None),
        ("step inf: loss 0.5", None),
        ("step 99999999999: loss 0.5", None),
        ("another line", None),
    ],
)
def test_the_groups_of_a_matching_line_are_metrics(
    open_sources: Open, folder: Path, points: Points, line: str, point: tuple[int, dict[str, float | None]] | None
) -> None:
    append(lines_of(folder), f"{line}\n")
    open_sources(OUTPUT).poll()
    assert str(points()) == str([] if point is None else [point])


def test_a_pattern_may_name_the_codes_of_colors(open_sources: Open, folder: Path, points: Points) -> None:
    append(lines_of(folder), "loss \x1b[32m0.5\x1b[0m\n")
    open_sources({"kind": "output", "pattern": "\x1b\\[32m(?P<loss>.*)"}).poll()
    assert points() == [(1, {"loss": 0.5})]


def test_parts_of_a_progress_bar_are_lines(open_sources: Open, folder: Path, points: Points) -> None:
    append(lines_of(folder), "step 1: loss 0.5\rstep 2: loss 0.25\rstep 3: loss 0.125\n")
    open_sources(OUTPUT).poll()
    assert [step for step, _ in points()] == [1, 2, 3]


def test_matching_lines_without_a_step_count_up(open_sources: Open, folder: Path, points: Points) -> None:
    append(lines_of(folder), "loss=0.5\nno\nloss=0.25\n")
    open_sources({"kind": "output", "pattern": "loss=(?P<loss>.*)"}).poll()
    assert points() == [(1, {"loss": 0.5}), (2, {"loss": 0.25})]


def test_bytes_that_are_no_text_disturb_nothing(open_sources: Open, folder: Path, points: Points) -> None:
    lines_of(folder).write_bytes(b"\xff\x00step 1: loss 0.5\nstep 2: loss \xff\n")
    open_sources(OUTPUT).poll()
    assert points() == [(1, {"loss": 0.5})]


def test_a_source_that_cannot_be_opened_leaves_the_others(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str]
) -> None:
    append(folder / "metrics.jsonl", json.dumps({"step": 1, "loss": 0.5}) + "\n")
    open_sources({"kind": "output", "pattern": "("}, {"kind": "other"}, {}, LINES).poll()
    assert points() == [(1, {"loss": 0.5})]
    assert capsys.readouterr().err.count("is no source of metrics") == 3
