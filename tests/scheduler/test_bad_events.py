"""What a job writes into its events file cannot stop the ingest tick: invalid lines are skipped, valid ones stored."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from contract.folder.events import Finished, Points, Resumed
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import JobRequest
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context
from scheduler.events import tail
from scheduler.events.tail import MAX_BYTES, read_tail
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.metrics import curves
from store.session import snapshot
from store.tables.runs import Restart
from tests.testing.clusters import SLURM
from tests.testing.events import STARTED, report
from tests.testing.runs import read, sentence
from tests.testing.specs import Experiment

POINT: dict[str, Any] = {"kind": "points", "attempt": 1, "at": 1.0, "step": 2, "values": {"loss": 1.0}}
FAILED: dict[str, Any] = {"kind": "failed", "attempt": 1, "at": 1.0, "rank": 0, "reason": "no"}
BAD: dict[str, dict[str, Any]] = {
    "a step beyond the column": POINT | {"step": 2**70},
    "a step beyond four bytes": POINT | {"step": 2**31},
    "an attempt beyond the column": {"kind": "resumed", "attempt": 2**70, "at": 0, "step": 0, "lost_steps": 0},
    "a moment beyond all dates": {"kind": "resumed", "attempt": 1, "at": 1e300, "step": 0, "lost_steps": 0},
    "lost steps beyond the column": {"kind": "resumed", "attempt": 1, "at": 0, "step": 0, "lost_steps": 2**70},
    "a negative rank": FAILED | {"rank": -5},
    "a metric with NUL in its name": POINT | {"values": {"lo\x00ss": 1.0}},
    "a metric with an escape sequence in its name": POINT | {"values": {"\x1b[2J": 1.0}},
    "a checkpoint beyond the column": POINT | {"kind": "saved", "stall_s": 0, "write_s": 0, "size_bytes": 2**70},
    "a checkpoint of endless time": POINT | {"kind": "saved", "stall_s": 1e999, "write_s": 0, "size_bytes": 1},
}


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    return run_ids[0]


def point(step: int) -> Points:
    return Points(attempt=1, at=1.0, step=step, values={"loss": 1.0})


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_an_event_out_of_bounds_is_skipped_and_the_run_goes_on(
    context: Context, run_id: int, line: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    report(context, run_id, STARTED, point(1), torn=json.dumps(line) + "\n")
    report(context, run_id, point(3), Finished(attempt=1, at=2.0, step=4))
    ingest(context)
    assert read(context, run_id).state is State.DONE
    with snapshot(context.engine) as db:
        assert curves.of_run(db, run_id, ["loss"], after=-1, limit=10)[0]["loss"][0] == [1, 3]
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "skipped 1 lines that are no events" in warning.getMessage()


@pytest.mark.parametrize("reason", ["a\x00b", "a\ud800b", "\x1b]0;title\x07" + "x" * 10**6])
def test_a_reason_that_cannot_be_stored_ends_its_run_with_the_rest_of_it(
    context: Context, run_id: int, reason: str
) -> None:
    report(context, run_id, STARTED, torn=json.dumps(FAILED | {"reason": reason}) + "\n")
    ingest(context)
    run = read(context, run_id)
    assert run.state is State.FAILED
    assert "\ufffd" in (sentence(run) or "")
    assert len(sentence(run) or "") <= 2000


def test_values_that_are_not_finite_are_stored_as_none(context: Context, run_id: int) -> None:
    report(context, run_id, STARTED, torn=json.dumps(POINT | {"values": {"loss": float("nan"), "lr": 1e999}}) + "\n")
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, run.latest) == (State.RUNNING, 2, {"loss": None, "lr": None})


def test_a_line_longer_than_a_read_is_skipped(context: Context, run_id: int) -> None:
    """Forces the fault: a line of more bytes than one read has; the read after it would begin at it for ever."""
    report(context, run_id, STARTED, torn="x" * (2 * MAX_BYTES + 5) + "\n")
    report(context, run_id, point(1), Finished(attempt=1, at=2.0, step=4))
    ingest(context)
    assert (read(context, run_id).state, read(context, run_id).step) == (State.DONE, 1)


def test_a_half_written_line_waits_however_long_the_file_is(tmp_path: Path) -> None:
    whole = (point(1).model_dump_json() + "\n").encode()
    (tmp_path / "events.jsonl").write_bytes(whole + whole[:20])
    read_now = read_tail(RunFolder(tmp_path), 0)
    assert (len(read_now.events), read_now.cursor, read_now.more) == (1, len(whole), False)


def test_many_invalid_lines_are_one_line_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"x\n" * 100_000)
    read_now = read_tail(RunFolder(tmp_path), 0)
    assert (read_now.events, read_now.cursor, len(caplog.records)) == ([], 200_000, 1)
    assert "skipped 100000 lines" in caplog.text


def test_lines_that_cannot_be_events_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: 4 MB of short lines, whose parsing took three seconds, in which no other run was read."""
    parsed: list[bytes] = []
    monkeypatch.setattr(tail, "read_record", lambda _, line: parsed.append(line))
    (tmp_path / "events.jsonl").write_bytes(b"x\n{}\n[1]\n" * 1_000)
    assert read_tail(RunFolder(tmp_path), 0).damage.lines == 3_000
    assert not parsed


def test_a_read_ends_after_so_many_invalid_events_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: more lines that look like events, and are none, than a tick has time for."""
    monkeypatch.setattr(tail, "MOST_INVALID", 10)
    whole = (point(1).model_dump_json() + "\n").encode()
    (tmp_path / "events.jsonl").write_bytes(b'{"kind": "none"}\n' * 25 + whole)
    reads, cursor, more = list[tuple[int, int, bool]](), 0, True
    while more:
        events, cursor, more, damage, _ = read_tail(RunFolder(tmp_path), cursor)
        reads.append((len(events), damage.lines, more))
    assert reads == [(0, 10, True), (0, 10, True), (1, 5, False)]
    assert cursor == (tmp_path / "events.jsonl").stat().st_size


def test_restarts_of_attempts_that_never_were_are_not_stored(context: Context, run_id: int) -> None:
    """Forces the fault: a job reports that thousands of later attempts resumed, each of them a row."""
    forged = [Resumed(attempt=attempt, at=0.0, step=1, lost_steps=0) for attempt in range(1, 50)]
    report(context, run_id, STARTED, *forged)
    ingest(context)
    with snapshot(context.engine) as db:
        assert list(db.scalars(select(Restart.attempt).where(Restart.run_id == run_id))) == [1]


def test_hosts_that_were_stored_unchecked_add_no_line_to_a_script(tmp_path: Path, experiment: Experiment) -> None:
    """Forces the fault: an earlier version stored a host whose name ends the option and adds another one."""
    spec: RunSpec = experiment(resources=SLURM).spec.base
    job = JobRequest("bigbatch-cafe-1", RunFolder.of(tmp_path, 1, "cafe"), 1, spec)
    script = Slurm("python", []).script(job._replace(excluded=["n1", "n2\n#SBATCH --uid=0", "n[1-9]", "n3"]))
    assert "#SBATCH --exclude=n1,n3" in script.splitlines()
    assert "uid" not in script
