"""An ingest tick's time and what it stores for one run are bounded, so that no run delays the others."""

import pytest
from sqlalchemy import func, select

from contract.folder.bounds import MAX_SERIES
from contract.folder.events import Points
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.events import tail
from scheduler.events.uncollected import FAILURES
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import FIRST_BYTES, ingest
from store.metrics.table import Series
from store.session import snapshot
from tests.testing.events import STARTED, report
from tests.testing.runs import read, sentence


@pytest.fixture
def submitted(context: Context, run_ids: list[int]) -> list[int]:
    submit_queued(context)
    for run_id in run_ids:
        report(context, run_id, STARTED)
    return run_ids


def points_from(first: int, count: int) -> list[Points]:
    return [Points(attempt=1, at=1.0, step=step, values={"loss": 1.0}) for step in range(first, first + count)]


def test_a_flood_of_one_run_delays_no_other_run(
    context: Context, submitted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the first run reports more than a tick has time for; before, a tick stored all of it first."""
    flood, *others = submitted
    report(context, flood, *points_from(1, 2_000))
    assert context.folder_of(read(context, flood)).events.stat().st_size > 2 * FIRST_BYTES
    for run_id in others:
        report(context, run_id, *points_from(1, 3))
    with monkeypatch.context() as patch:
        patch.setattr("scheduler.ticks.ingest.BUDGET_S", 0.0)
        ingest(context)
    assert [read(context, run_id).step for run_id in others] == [3, 3]
    assert 0 < read(context, flood).cursor <= FIRST_BYTES
    ingest(context)
    assert read(context, flood).step == 2_000


def test_a_first_line_that_is_longer_than_the_first_read_is_an_event(context: Context, submitted: list[int]) -> None:
    wide = Points(attempt=1, at=1.0, step=1, values={f"{number:0100}": 1.0 for number in range(1_000)})
    assert len(wide.model_dump_json()) > FIRST_BYTES
    report(context, submitted[0], wide, *points_from(2, 1))
    ingest(context)
    assert len(read(context, submitted[0]).latest) == 1_001


def test_a_run_has_so_many_series_and_no_more(context: Context, submitted: list[int]) -> None:
    """Forces the fault: each event has metrics of other names, and each name is a row and a part of all lists."""
    run_id = submitted[0]
    report(context, run_id, *points_from(1, 1))
    ingest(context)
    for first in range(0, 2 * MAX_SERIES, MAX_SERIES // 2):
        values: dict[str, float | None] = {f"name-{number}": 1.0 for number in range(first, first + MAX_SERIES // 2)}
        report(context, run_id, Points(attempt=1, at=1.0, step=2, values=values))
    report(context, run_id, *points_from(3, 1))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, len(run.latest), run.latest["loss"]) == (State.RUNNING, 3, MAX_SERIES, 1.0)
    with snapshot(context.engine) as db:
        assert db.scalar(select(func.count()).where(Series.run_id == run_id)) == MAX_SERIES


def test_a_run_whose_events_grow_by_terabytes_ends(
    context: Context, submitted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the events file has more unread bytes than can be read in hours."""
    monkeypatch.setattr(tail, "MAX_BACKLOG_BYTES", 10_000)
    run_id = submitted[0]
    report(context, run_id, torn="{}\n" * 5_000)
    for _ in range(FAILURES):
        ingest(context)
    run = read(context, run_id)
    assert run.state is State.FAILED
    assert "unread bytes, more than 10,000" in (sentence(run) or "")
    assert read(context, submitted[1]).state is State.RUNNING
