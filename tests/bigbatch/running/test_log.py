"""`bigbatch.log`: points in the format of events, whole lines, and no exception whatever is logged."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sources import protobuf
from bigbatch.running import measurement
from bigbatch.running.environment import RunEnvironment, read_environment
from bigbatch.running.measurement import shortest_float
from bigbatch.running.point_log import PointLog
from contract.folder import bounds
from contract.folder.events import Event, Points, Resumed, event_reader
from tests.testing.scripts import environment_of, make_run_folder, run_script

Open = Callable[..., PointLog]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


@pytest.fixture
def open_log(folder: Path) -> Open:
    def open_(attempt: int = 1, rank: int = 0) -> PointLog:
        return PointLog(RunEnvironment(str(folder), attempt, rank, 1, None))

    return open_


def events(folder: Path, name: str = "events.jsonl") -> list[Event]:
    """Every line of the file, each of which must be a valid event."""
    return [event_reader.validate_json(line) for line in (folder / name).read_bytes().splitlines()]


def points(folder: Path, name: str = "events.jsonl") -> dict[int, dict[str, float | None]]:
    return {event.step: event.values for event in events(folder, name) if isinstance(event, Points)}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (0.25, 0.25),
        (3, 3.0),
        (True, 1.0),
        (2**60, float(2**60)),
        (10**400, math.inf),
        (math.nan, math.nan),
        (-math.inf, -math.inf),
        (None, None),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.float32(0.1), 0.1),
        (np.float32(1e-7), 1e-07),
        (np.float32(3.4028235e38), 3.4028235e38),
        (np.float32(16777217), 16777216.0),
        (np.float32(1 / 3), 0.33333334),
        (np.float16(0.1), 0.1),
        (np.float32(-math.inf), -math.inf),
        (np.array([0.1], np.float32), 0.1),
        (torch.tensor(0.1), 0.1),
        (torch.tensor(0.1, dtype=torch.float64), 0.1),
        (np.int64(7), 7.0),
        (np.array([2.5]), 2.5),
        (torch.tensor(0.75), 0.75),
        (torch.tensor([3]), 3.0),
        (torch.tensor(0.5, requires_grad=True), 0.5),
        (torch.tensor(math.nan), math.nan),
    ],
    ids=repr,
)
def test_a_number_of_any_type_is_stored(open_log: Open, folder: Path, value: Any, stored: float | None) -> None:
    assert open_log().log({"loss": value}, 1)
    assert str(points(folder)) == str({1: {"loss": stored}})


@settings(max_examples=200, derandomize=True)
@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float32_is_stored_by_the_shortest_number_that_is_it(value: float) -> None:
    short = shortest_float(value)
    assert short == protobuf.shortest_float(value) == float(str(np.float32(value)))
    assert np.float32(short) == np.float32(value)


@pytest.mark.parametrize(
    "value", ["0.5", b"1", [1.0], {"a": 1}, object(), torch.zeros(2), 1j], ids=lambda value: type(value).__name__
)
def test_what_is_no_number_is_left_out_with_one_warning(
    open_log: Open, folder: Path, value: Any, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    log, name = open_log(), request.node.name
    assert log.log({"loss": 1.0, name: value}, 1)
    assert not log.log({name: value}, 2)
    assert points(folder) == {1: {"loss": 1.0}}
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", ["", "a" * 201, "a\nb", "\x1b[2J", "\ud800", 5, None, "\x85"], ids=repr)
def test_a_wrong_name_is_left_out(open_log: Open, folder: Path, name: Any) -> None:
    assert open_log().log({"loss": 1.0, name: 2.0}, 1)
    assert points(folder) == {1: {"loss": 1.0}}


@pytest.mark.parametrize("name", ["a" * 200, 'quo"te\\', "Verlust \u00e4\U0001f600", "eval/accuracy"])
def test_every_name_within_the_bounds_is_stored_as_it_is(open_log: Open, folder: Path, name: str) -> None:
    assert open_log().log({name: 2.0}, 1)
    assert points(folder) == {1: {name: 2.0}}


@pytest.mark.parametrize("step", [-1, 2**31, 1.5, "x", math.nan, torch.zeros(2)], ids=repr)
def test_a_wrong_step_is_no_exception(open_log: Open, folder: Path, step: Any) -> None:
    log = open_log()
    assert not log.log({"loss": 1.0}, step)
    assert log.log({"loss": 1.0}, 2**31 - 1)
    assert list(points(folder)) == [2**31 - 1]


@pytest.mark.parametrize("step", [3, 3.0, np.int32(3), torch.tensor(3)], ids=repr)
def test_a_step_of_any_integer_type_is_stored(open_log: Open, folder: Path, step: Any) -> None:
    assert open_log().log({"loss": 1.0}, step)
    assert list(points(folder)) == [3]


def test_the_bounds_are_those_of_the_contract() -> None:
    assert (measurement.MAX_STEP, measurement.MAX_VALUES) == (bounds.INT4, bounds.MAX_VALUES)
    for code in [*range(0x300), 0xD800, 0xDFFF, 0xE000]:
        name = f"a{chr(code)}"
        is_valid = re.fullmatch(bounds.METRIC_NAME, name) is not None and not 0xD800 <= code <= 0xDFFF
        assert measurement.is_name(name) is is_valid, hex(code)


def test_more_metrics_than_an_event_can_hold_are_cut(open_log: Open, folder: Path) -> None:
    assert open_log().log({f"{'ä' * 190}{number}": 1.0 for number in range(2_500)}, 1)
    assert len(points(folder)[1]) == bounds.MAX_VALUES


def test_steps_that_are_absent_count_up_from_the_last_one(open_log: Open, folder: Path) -> None:
    log = open_log()
    for step in (None, None, 10, None):
        log.log({"loss": 1.0}, step)
    assert list(points(folder)) == [1, 2, 10, 11]
    open_log(attempt=2).log({"loss": 1.0}, None)
    assert list(points(folder))[-1] == 12


def test_another_rank_writes_a_file_of_its_own_without_resumptions(open_log: Open, folder: Path) -> None:
    name = "points/rank-12.jsonl"
    for attempt in (1, 2):
        log = open_log(attempt=attempt, rank=12)
        assert log.log({"loss": 0.5, "a" * 200: 1.0}, 4)
    assert [(event.attempt, event.kind) for event in events(folder, name)] == [(1, "points"), (2, "points")]
    assert points(folder, name) == {4: {"loss": 0.5}}  # with /rank-12 the other name is too long
    assert not (folder / "events.jsonl").exists()


def test_a_removed_run_folder_is_not_made_again(open_log: Open, folder: Path) -> None:
    (folder / "attempts").rmdir()
    folder.rmdir()
    assert not open_log(rank=1).log({"loss": 1.0}, 1)
    assert not open_log().log({"loss": 1.0}, 1)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("logged", "first", "resumed"),
    [
        (range(1, 51), 31, (30, 20)),  # from the checkpoint of step 30
        (range(1, 51), 51, (50, 0)),  # after a pause
        (range(1, 51), 1, (0, 50)),  # from the beginning
        (range(50), 0, (0, 50)),  # the same, of a script that counts from 0
        (range(10, 100, 10), 60, (50, 40)),  # a script that logs every tenth step
        (range(10, 100, 10), 10, (0, 90)),
        (range(1000, 1020), 1000, (999, 20)),  # a script that continues from another run's weights
    ],
)
def test_a_later_attempt_reports_exactly_the_steps_that_are_lost(
    open_log: Open, folder: Path, logged: range, first: int, resumed: tuple[int, int]
) -> None:
    before = open_log()
    for step in logged:
        before.log({"loss": 1.0}, step)
    after = open_log(attempt=2)
    after.log({"loss": 1.0}, first)
    after.log({"loss": 1.0}, first + 1)
    (event,) = [event for event in events(folder) if isinstance(event, Resumed)]
    assert (event.attempt, event.step, event.lost_steps) == (2, *resumed)
    assert [event.kind for event in events(folder)][-3:] == ["resumed", "points", "points"]


@pytest.mark.parametrize("first", [31, 1])
def test_a_value_that_each_attempt_logs_once_at_step_0_is_no_resumption(
    open_log: Open, folder: Path, first: int
) -> None:
    for attempt, steps in ((1, range(1, 51)), (2, range(0)), (3, range(first, first + 5))):
        log = open_log(attempt=attempt)
        log.log({"batch": 32}, 0)
        for step in steps:
            log.log({"loss": 1.0}, step)
    (event,) = [event for event in events(folder) if isinstance(event, Resumed)]
    assert (event.attempt, event.step, event.lost_steps) == (3, first - 1, 51 - first)


INVALID = [  # lines of somebody else that the service leaves out
    {"step": 2**70},
    {"step": 45, "attempt": -1},
    {"step": 20, "at": 1e300},
    {"step": 20, "values": {"lo\0ss": 1.0}},
    {"step": 20, "values": [1.0]},
    {"step": True},
]


@pytest.mark.parametrize("fields", INVALID)
def test_lines_that_the_service_leaves_out_count_as_no_steps(
    open_log: Open, folder: Path, fields: dict[str, object]
) -> None:
    """Forces the fault: somebody writes lines among the events that are no events."""
    for attempt, steps in ((1, range(1, 51)), (2, range(31, 41))):
        log = open_log(attempt=attempt)
        for step in steps:
            log.log({"loss": 1.0}, step)
        log.flush()
    with (folder / "events.jsonl").open("a") as file:
        line = {"kind": "points", "attempt": 1, "at": 1.0, "values": {"loss": 1.0}, **fields}
        file.write(json.dumps(line) + "\n")
    open_log(attempt=3).log({"loss": 1.0}, 36)
    lines = (folder / "events.jsonl").read_text().splitlines()
    resumed = [event for event in map(json.loads, lines) if event["kind"] == "resumed"][-1]
    assert (resumed["attempt"], resumed["step"], resumed["lost_steps"]) == (3, 35, 5)


def test_the_third_attempt_counts_from_the_second_ones_last_step(open_log: Open, folder: Path) -> None:
    for attempt, steps in ((1, range(1, 51)), (2, range(31, 41)), (3, range(21, 25))):
        log = open_log(attempt=attempt)
        for step in steps:
            log.log({"loss": 1.0}, step)
    lost = [(event.step, event.lost_steps) for event in events(folder) if isinstance(event, Resumed)]
    assert lost == [(30, 20), (20, 20)]


def test_damaged_lines_do_not_hide_the_last_step(open_log: Open, folder: Path) -> None:
    open_log().log({"loss": 1.0}, 7)
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"kind":"points","step":"x","attempt":1}\n{"kind":"points"\n[1]\n"points"\nnull points\n')
    open_log(attempt=2).log({"loss": 1.0}, 5)
    last = (folder / "events.jsonl").read_text().splitlines()[-2]
    assert json.loads(last)["lost_steps"] == 3


def test_outside_a_run_nothing_is_written_and_nothing_is_lost(tmp_path: Path) -> None:
    code = """
import bigbatch
print(bigbatch.log({"loss": 1.0}, step=1), bigbatch.log(loss=1), bigbatch.should_pause(3), bigbatch.resuming)
print(bigbatch.config.get("lr", 0.5), len(bigbatch.config), bigbatch.finish())
"""
    assert run_script(code, environment_of(None), cwd=tmp_path) == ("False False False False\n0.5 0 True\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_script_logs_in_each_form(folder: Path) -> None:
    code = """
import bigbatch
from bigbatch import log
assert bigbatch.log(step=1, loss=0.5) and log({"loss": 0.25}, step=2) and log({"a b": 1}, step=3, loss=0.125)
assert log({"step": 9.0, "values": 2.0}, step=4) and bigbatch.finish()
"""
    assert run_script(code, environment_of(folder)) == ("", "")
    assert points(folder) == {
        1: {"loss": 0.5},
        2: {"loss": 0.25},
        3: {"a b": 1.0, "loss": 0.125},
        4: {"step": 9.0, "values": 2.0},
    }


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({"RANK": "3", "SLURM_PROCID": "5"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "2"}, 2),
        ({"PMI_RANK": "4", "SLURM_PROCID": "1"}, 4),
        ({"SLURM_PROCID": "6"}, 6),
        ({"RANK": "x", "SLURM_PROCID": "6"}, 6),
        ({}, 0),
    ],
)
def test_the_rank_is_the_launchers(variables: dict[str, str], rank: int) -> None:
    assert read_environment(variables).rank == rank
