"""What a source cannot read as a metric: one line of the log says how much it is, the first example, and why."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.sources import tensorboard
from agent.sources.text_number import number_of
from contract.folder.events import Points as PointsEvent
from tests.agent.sources.conftest import Open, append, end_output, lines_of
from tests.testing.event_files import append as append_records
from tests.testing.event_files import scalars
from tests.testing.programs import agent, events_of, program_folder, run_agent
from tests.testing.servers import wait_for

Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\S+) loss (?P<loss>\S+)"}
BOARD = {"kind": "tensorboard"}
NAME = "events.out.tfevents.1700000000.host.1.0"
FILES = {"json_lines": "metrics.jsonl", "output": "attempts/1.lines-0.out"}


@pytest.mark.parametrize(
    ("spec", "lines", "message"),
    [
        (
            LINES,
            ['{"step": 3000000000, "loss": 1, "lr": 1}', '{"step": 7.5, "loss": 1}', '{"step": 1, "loss": 1}'],
            """json_lines metrics.jsonl: 3 left out; the first one is '{"step": 3000000000, "loss": 1, "lr": 1}': """
            "the step 3000000000 is not between 0 and 2,147,483,647",
        ),
        (
            LINES,
            ['{"step": 1, "loss": 1}', "Traceback (most recent call last):", "", "[1]"],
            "json_lines metrics.jsonl: 2 left out; the first one is 'Traceback (most recent call last):': "
            "a line is no object of JSON",
        ),
        (
            LINES,
            [json.dumps({f"m{n}": n for n in range(2_003)})],
            "json_lines metrics.jsonl: 3 left out; the first one is 'm2000': a line has more than 2,000 numbers",
        ),
        (
            LINES,
            ['{"loss": 1, "x": "' + "x" * (3 << 20) + '"}', '{"loss": 1}'],
            "json_lines metrics.jsonl: 1 left out; the first one is '': a line has more than 65,536 bytes",
        ),
        (
            OUTPUT,
            ["step 1 loss high", "step 7.5 loss 0.5", "another line", "step 2 loss 0.5"],
            "output: 2 left out; the first one is 'step 1 loss high': loss: 'high' is no number",
        ),
        (
            OUTPUT,
            ["step 3000000000 loss 0.5"],
            "output: 1 left out; the first one is 'step 3000000000 loss 0.5': "
            "the step 3000000000 is not between 0 and 2,147,483,647",
        ),
    ],
    ids=["steps", "no object", "many numbers", "a long line", "texts", "a step of output"],
)
def test_one_line_of_the_log_says_what_was_left_out(
    open_sources: Open, folder: Path, capsys: pytest.CaptureFixture[str], spec: Any, lines: list[str], message: str
) -> None:
    sources = open_sources(spec)
    for line in lines:
        append(folder / FILES[spec["kind"]], f"{line}\n")
        sources.finish()
    sources.end(is_well=True)
    assert capsys.readouterr().err == f"bigbatch: metrics of {message}\n"


def test_scalars_that_cannot_be_stored_are_counted(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = bytearray(scalars(2, {"loss": 0.5}))
    damaged[-6] ^= 1
    append_records(folder / NAME, scalars(2**31, {"loss": 0.5}) + bytes(damaged) + scalars(1, {"loss": 0.5}) + b"torn")
    sources = open_sources(BOARD)
    sources.finish()
    sources.end(is_well=True)
    reason = "the step 2147483648 is not between 0 and 2,147,483,647"
    assert (
        capsys.readouterr().err == f"bigbatch: metrics of tensorboard: 3 left out; the first one is 'loss': {reason}\n"
    )
    assert points() == [(1, {"loss": 0.5})]


def test_event_files_beyond_the_limit_are_counted(
    open_sources: Open, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tensorboard, "MAX_FILES", 3)
    for number in range(5):
        append_records(folder / f"part{number}" / NAME, scalars(1, {"loss": 0.5}))
    sources = open_sources(BOARD)
    sources.finish()
    sources.end(is_well=True)
    assert f"tensorboard: 2 left out; the first one is 'part3/{NAME}': of at most 3" in capsys.readouterr().err


@pytest.mark.parametrize("spec", [LINES, OUTPUT])
def test_the_last_line_needs_no_newline_once_the_program_has_ended(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str], spec: Any
) -> None:
    sources = open_sources(spec)
    append(folder / FILES[spec["kind"]], '{"step": 4, "loss": 0.5}' if spec is LINES else "step 4 loss 0.5")
    end_output(folder)
    sources.finish()
    assert points() == []
    sources.end(is_well=True)
    assert points() == [(4, {"loss": 0.5})]
    assert capsys.readouterr().err == ""


def test_a_number_that_a_kill_may_have_cut_is_no_metric(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: the program is killed after "loss 0.5" of "loss 0.57"; the next attempt writes behind it."""
    sources = open_sources(OUTPUT)
    append(lines_of(folder), "step 3 loss 0.5")
    end_output(folder)
    sources.end(is_well=False)
    assert "1 left out; the first one is 'step 3 loss 0.5': the line has no end" in capsys.readouterr().err
    sources = open_sources(OUTPUT, attempt=2)
    append(lines_of(folder, 2), "step 4 loss 0.25\n")
    sources.finish()
    sources.end(is_well=True)
    assert points() == [(4, {"loss": 0.25})]


def test_a_line_that_a_kill_has_cut_hides_no_line_of_the_next_attempt(
    open_sources: Open, folder: Path, points: Points
) -> None:
    """Forces the fault: agent and program are killed while the program writes."""
    open_sources(LINES)
    append(folder / "metrics.jsonl", '{"step": 3, "lo')
    sources = open_sources(LINES, attempt=2)
    append(folder / "metrics.jsonl", '{"step": 3, "loss": 0.25}\n')
    sources.finish()
    assert points() == [(3, {"loss": 0.25})]


def test_what_a_killed_agent_counted_is_said_by_the_next_attempt_and_once(
    open_sources: Open, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: the agent is killed after it has read two lines that it could not report."""
    append(lines_of(folder), "step 7.5 loss 1\nstep 7.5 loss 2\n")
    open_sources(OUTPUT).poll()
    sources = open_sources(OUTPUT, attempt=2)
    append(lines_of(folder, 2), "step 7.5 loss 3\n")
    sources.finish()
    sources.end(is_well=True)
    message = capsys.readouterr().err
    assert message.startswith("bigbatch: metrics of output: 3 left out; the first one is 'step 7.5 loss 1'")
    sources = open_sources(OUTPUT, attempt=3)
    sources.finish()
    sources.end(is_well=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (LINES, "json_lines metrics.jsonl: none was found: there is no file "),
        (OUTPUT, "output: none was found: the pattern was found in no line of the output"),
        (BOARD, "tensorboard: none was found: there is no event file in "),
    ],
)
def test_a_source_without_any_metric_says_so(
    open_sources: Open, capsys: pytest.CaptureFixture[str], spec: Any, reason: str
) -> None:
    sources = open_sources(spec)
    sources.finish()
    sources.end(is_well=True)
    assert capsys.readouterr().err.startswith(f"bigbatch: metrics of {reason}")


def test_the_log_of_a_run_says_what_its_sources_left_out(tmp_path: Path) -> None:
    command = """echo step 7.5 loss 1; echo step 1 loss 91%; printf '{"step": "2", "loss": 0.5}' > metrics.jsonl"""
    folder = program_folder(tmp_path, command, metrics=[OUTPUT, LINES])
    assert run_agent(folder) == 0
    found = [(event.step, event.values) for event in events_of(folder) if isinstance(event, PointsEvent)]
    assert found == [(1, {"loss": 91.0}), (2, {"loss": 0.5})]
    (line,) = [line for line in folder.log.read_text().splitlines() if line.startswith("bigbatch: metrics of")]
    assert line == (
        "bigbatch: metrics of output: 1 left out; the first one is 'step 7.5 loss 1': the step '7.5' is no whole number"
    )


def test_the_agent_of_a_killed_rank_takes_no_number_without_its_end(tmp_path: Path) -> None:
    """Forces the fault: the rank is killed after a part of a number."""
    folder = program_folder(tmp_path, "printf 'step 1 loss 0.5'; touch written; kill -9 $$", metrics=[OUTPUT])
    with agent(folder) as process:
        wait_for("the end", lambda: process.poll() is not None)
    assert not [event for event in events_of(folder) if isinstance(event, PointsEvent)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,024", 1024.0),
        ("-12,345,678.5", -12345678.5),
        ("12,34,567", 1234567.0),
        ("91 %,", 91.0),
        ("\x1b[31m-1e-4\x1b[0m;", -1e-4),
        ("Infinity", float("inf")),
        ("1_000", 1000.0),
        (".5", 0.5),
        ("0,5", None),
        ("1,5", None),
        ("1,0245", None),
        ("12e4567", None),
        ("0x10", None),
        ("0.5s", None),
        ("%", None),
        ("", None),
    ],
)
def test_a_text_is_a_number_as_people_read_it(text: str, number: float | None) -> None:
    assert number_of(text) == number
