"""Bounds of what jobs write: out-of-bounds numbers and names make a record invalid, texts are made valid."""

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contract.folder.bounds import INT4, LAST_MOMENT, LINE_CHARS, SHORTENED, printable
from contract.folder.events import Event, Failed, Points, Started, event_reader
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.rank_times import COLUMNS, read_rank_times
from contract.folder.record import read_record
from contract.folder.run_folder import RECORD_BYTES, UNREADABLE, RunFolder
from contract.metric_names import TIME_PARTS

pytestmark = pytest.mark.ring("quick")

STARTED: dict[str, Any] = {
    "kind": "started",
    "attempt": 1,
    "at": 0,
    "world": 1,
    "hosts": ["h"],
    "device": "cpu",
    "steps": 4,
}
EVENTS: dict[str, dict[str, Any]] = {
    "started": STARTED | {"versions": {}},
    "resumed": {"kind": "resumed", "attempt": 1, "at": 0, "step": 1, "lost_steps": 0},
    "points": {"kind": "points", "attempt": 1, "at": 0, "step": 1, "values": {}},
    "saved": {"kind": "saved", "attempt": 1, "at": 0, "step": 1, "stall_s": 1, "write_s": 1, "size_bytes": 1},
    "paused": {"kind": "paused", "attempt": 1, "at": 0, "step": 1, "saved_step": 1, "reason": "SIGTERM"},
    "finished": {"kind": "finished", "attempt": 1, "at": 0, "step": 1},
    "noticed": {"kind": "noticed", "attempt": 1, "at": 0, "metrics": "this run logs to wandb"},
    "failed": {"kind": "failed", "attempt": 1, "at": 0, "rank": 1, "reason": "no"},
}
NUMBERS = ("attempt", "at", "world", "steps", "step", "saved_step", "lost_steps", "size_bytes", "rank", "stall_s")


def read(event: dict[str, Any]) -> Event:
    return read_record(event_reader, json.dumps(event).encode())


@pytest.mark.parametrize("number", [2**70, 1e300, -1e300, math.nan, math.inf, 10**400])
@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind, event in EVENTS.items() for field in NUMBERS if field in event]
)
def test_a_number_out_of_bounds_makes_its_event_invalid(kind: str, field: str, number: float) -> None:
    read(EVENTS[kind])
    with pytest.raises(ValidationError):
        read(EVENTS[kind] | {field: number})


@pytest.mark.parametrize("field", ["rank", "attempt", "at"])
def test_a_negative_number_makes_its_event_invalid(field: str) -> None:
    with pytest.raises(ValidationError):
        read(EVENTS["failed"] | {field: -5})


@pytest.mark.parametrize("field", ["attempt", "step"])
def test_the_largest_number_of_a_column_is_valid(field: str) -> None:
    assert getattr(read(EVENTS["finished"] | {field: INT4}), field) == INT4
    with pytest.raises(ValidationError):
        read(EVENTS["finished"] | {field: INT4 + 1})


@pytest.mark.parametrize(
    "host", ["", "a,b", "n[1-9]", "n1\n#SBATCH --wrap=id", "n 1", "-n", "n\x00", "h" * 256, "$(id)", "n;id"]
)
def test_a_name_that_no_host_has_makes_its_event_invalid(host: str) -> None:
    """Forces the fault: a host's name with which a job would add hosts or lines to a script with --exclude."""
    with pytest.raises(ValidationError):
        read(STARTED | {"versions": {}, "hosts": ["n1", host]})


def test_metric_values_that_are_not_finite_stay_so() -> None:
    line = b'{"kind":"points","attempt":1,"at":0,"step":1,"values":{"a":NaN,"b":-Infinity,"c":1e999,"d":0.5,"e":null}}'
    event = read_record(event_reader, line)
    assert isinstance(event, Points)
    assert str(event.values) == "{'a': nan, 'b': -inf, 'c': inf, 'd': 0.5, 'e': None}"
    again = read(json.loads(event.model_dump_json()))
    assert isinstance(again, Points)
    assert str(again.values) == str(event.values)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b", "a\nb", "\x1b[31m"])
def test_a_metric_name_that_cannot_be_stored_makes_its_event_invalid(name: str) -> None:
    with pytest.raises(ValidationError):
        read(EVENTS["points"] | {"values": {name: 1.0}})


def test_more_metrics_than_any_step_has_make_their_event_invalid() -> None:
    with pytest.raises(ValidationError):
        read(EVENTS["points"] | {"values": {f"m{number}": 1.0 for number in range(2001)}})


def test_a_long_text_is_shortened_in_its_middle() -> None:
    event = read(EVENTS["failed"] | {"reason": "a" * 50_000 + "the end"})
    assert isinstance(event, Failed)
    assert len(event.reason) == LINE_CHARS
    assert SHORTENED in event.reason
    assert event.reason.endswith("the end")


@pytest.mark.parametrize("character", ["\x00", "\udfff", "\x1b", "\x9b", "\r"])
def test_a_character_that_cannot_be_stored_or_shown_is_replaced(character: str) -> None:
    """Forces the fault: JSON of another writer than pydantic has half a surrogate pair as an escape."""
    event = read(EVENTS["failed"] | {"reason": f"a{character}b \U0001f600 \\ud800"})
    assert isinstance(event, Failed)
    event.reason.encode()
    assert event.reason.startswith("a\ufffdb ")
    assert printable(event.reason) == event.reason
    assert RankFailure(at=0, rank=0, host="h", reason=f"a{character}b").model_dump_json()


def test_a_pair_of_surrogates_is_one_character() -> None:
    line = b'{"kind":"failed","attempt":1,"at":0,"rank":1,"reason":"\\ud83d\\ude00\\ud800 \xff"}'
    event = read_record(event_reader, line)
    assert isinstance(event, Failed)
    assert event.reason == "\U0001f600\ufffd \ufffd"


def test_notes_and_rosters_out_of_bounds_are_omitted(tmp_path: Path) -> None:
    """Forces the fault: notes with impossible numbers and sizes stand beside a valid one, whose file is from 10^11."""
    folder = RunFolder(tmp_path)
    (tmp_path / "attempts").mkdir()
    good = RankFailure(at=5.0, rank=2, host="h", reason="no")
    folder.write_rank_failure(1, good)
    os.utime(tmp_path / "attempts" / "1.rank-2.json", (1e11, 1e11))
    bad: list[dict[str, Any]] = [{"rank": -5}, {"at": 1e300}, {"round": 2**70}, {"trace": "x" * RECORD_BYTES}]
    for rank, changes in enumerate(bad, 10):
        note = json.dumps(good.model_dump(mode="json") | changes)
        (tmp_path / "attempts" / f"1.rank-{rank}.json").write_text(note)
    os.mkfifo(tmp_path / "attempts" / "2.ranks")
    (tmp_path / "attempts" / "1.ranks").write_text('{"hosts": ["h"], "ahead_s": [NaN]}')
    assert (folder.read_roster(1), folder.read_roster(2)) == (None, None)
    (failure,) = folder.read_rank_failures(1)
    assert (failure.rank, failure.at <= LAST_MOMENT) == (2, True)


@pytest.mark.parametrize(
    "claim", ["[" * 4000, '{"job": 5}', '{"job": "a\\u0000b"}', '{"job": ""}', "x" * 10**6, "9" * 5000]
)
def test_a_claim_that_names_no_job_is_unreadable(tmp_path: Path, claim: str) -> None:
    folder = RunFolder(tmp_path)
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "1.json").write_text(claim)
    assert folder.read_claim(1) == UNREADABLE


@pytest.mark.parametrize("status", ["9" * 4000, "9" * 5000, "-4000", "x", "\x00", "1" * 10**6])
def test_an_exit_status_that_no_process_has_is_none(tmp_path: Path, status: str) -> None:
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "1.end").write_text(status)
    assert RunFolder(tmp_path).read_part_exit(1) is None


@pytest.mark.parametrize("start", ["9" * 4000, "-7", "9" * 5000, "1e9"])
def test_a_log_mark_out_of_bounds_hides_no_log(tmp_path: Path, start: str) -> None:
    folder = RunFolder(tmp_path)
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "2.log").write_text(start)
    folder.log.write_text("the log\n")
    assert folder.read_attempt_log(2, 100) == folder.read_attempt_log(1, 100) == "the log\n"


def test_a_pipe_in_a_records_place_is_an_error_and_no_wait(tmp_path: Path) -> None:
    """Forces the fault: a read of a pipe without a writer would last for ever."""
    os.mkfifo(tmp_path / "collective.json")
    with pytest.raises(OSError, match="only regular files") as refused:
        RunFolder(tmp_path).read_choices()
    assert refused.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    "bad",
    [
        "1,5,4,0" + ",1" * len(TIME_PARTS),
        "x,1,1,0" + ",1" * len(TIME_PARTS),
        f"{2**70},1,1,0" + ",1" * len(TIME_PARTS),
        "1,1,1,-5" + ",1" * len(TIME_PARTS),
        "1,1,1,0" + ",nan" * len(TIME_PARTS),
        "1,1,1,0" + ",1e300" * len(TIME_PARTS),
        "1,1,1,0" + ",?" * len(TIME_PARTS),
        '"1,1\x00',
        pytest.param("9" * 200_000, id="many digits"),
        "\udcff",
    ],
)
def test_a_malformed_row_of_times_is_skipped(tmp_path: Path, bad: str) -> None:
    path, good = tmp_path / "times.csv", "1,1,2,0" + ",0.5" * len(TIME_PARTS)
    path.write_bytes("\n".join([",".join(COLUMNS), good, bad, good, ""]).encode(errors="surrogateescape"))
    times = read_rank_times(tmp_path, path.name)
    assert times is not None
    assert times.ranks[0].seconds == dict.fromkeys(TIME_PARTS, 0.5)


@pytest.mark.parametrize(
    "head", ["", "a,b", "\xff\x00", ",".join(COLUMNS) + ",rank", pytest.param("x" * 10**6, id="long")]
)
def test_a_table_without_its_columns_has_no_times(tmp_path: Path, head: str) -> None:
    (tmp_path / "times.csv").write_text(f"{head}\n1,1,1,0" + ",1" * len(TIME_PARTS) + "\n")
    assert read_rank_times(tmp_path, "times.csv") is None


def test_what_a_trainer_writes_is_in_bounds() -> None:
    hosts = [f"node-{number}.cluster" for number in range(4096)]
    started = Started(attempt=1, at=1.8e9, world=4096, hosts=hosts, device="cuda", steps=1, versions={"torch": "2"})
    assert read_record(event_reader, started.model_dump_json().encode()) == started
    assert RankRoster(hosts=hosts, ahead_s=[-600.0] * 4096).hosts == hosts
