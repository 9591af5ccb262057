"""An ingest tick's time and what it stores for one run are bounded, so that no run delays the others."""

import pytest
from sqlalchemy import event, func, select

from contract.folder.bounds import MAX_NAME_BYTES, MAX_NAME_CHARS, MAX_SERIES, MAX_SERIES_BYTES
from contract.folder.events import Event, Noticed, Points, Resumed, Saved
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.events import tail
from scheduler.events.turns import in_turns
from scheduler.events.uncollected import FAILURES
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import FIRST_BYTES, ingest
from store import runs
from store.metrics import points
from store.metrics.newest import MAX_LISTED, MAX_LISTED_BYTES
from store.runs import LiveRun
from store.session import snapshot
from store.tables.base import now
from store.tables.points import Series
from tests.testing.events import STARTED, report
from tests.testing.runs import read, sentence
from tests.testing.statements import executed


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


def test_runs_with_many_series_delay_no_other_run_and_take_turns(
    context: Context, submitted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: two runs report a thousand series at each step, and the tick has time for none of them."""
    *wide, narrow = submitted

    def report_step(step: int) -> None:
        values: dict[str, float | None] = {f"series-{number}": 1.0 for number in range(1_000)}
        for run_id in wide:
            report(context, run_id, Points(attempt=1, at=1.0, step=step, values=values))
        report(context, narrow, *points_from(step, 1))

    report_step(1)
    ingest(context)
    assert [read(context, run_id).step for run_id in submitted] == [1, 1, 1], "nothing is known of a run at first"
    with monkeypatch.context() as patch:
        patch.setattr("scheduler.ticks.ingest.BUDGET_S", -1.0)
        report_step(2)
        ingest(context)
    assert [read(context, run_id).step for run_id in submitted] == [1, 1, 2]
    first = in_turns(context, live_runs(context))[1]
    assert [run.id for run in first] == wide, "the one that was read first waits for the longest time"
    ingest(context)
    assert [read(context, run_id).step for run_id in submitted] == [2, 2, 2]


def test_a_transaction_has_a_bounded_number_of_series(
    context: Context, submitted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: several runs report more series than a transaction should write."""
    monkeypatch.setattr("scheduler.ticks.ingest.MAX_SERIES_AT_ONCE", 100)
    ends: list[object] = []
    event.listen(context.engine, "commit", ends.append)
    values: dict[str, float | None] = {f"series-{number}": 1.0 for number in range(100)}
    for run_id in submitted:
        report(context, run_id, Points(attempt=1, at=1.0, step=1, values=values))
    ingest(context)
    assert len(ends) == len(submitted)


@pytest.mark.parametrize(
    "flood",
    [
        Resumed(attempt=1, at=1.0, step=0, lost_steps=0),
        Noticed(attempt=1, at=1.0, metrics="x"),
        Saved(attempt=1, at=1.0, step=1, stall_s=0, write_s=0, size_bytes=1),
        STARTED,
    ],
    ids=lambda one: one.kind,
)
def test_ten_thousand_equal_events_take_as_many_statements_as_two(
    context: Context, submitted: list[int], flood: Event
) -> None:
    """Forces the fault: a run repeats one event; before, each `resumed` event was a statement of its own."""
    one, other, _ = submitted
    ingest(context)
    counts = []
    for run_id, times in ((one, 2), (other, 10_000)):
        report(context, run_id, *[flood] * times)
        with executed(context.engine) as statements:
            while read(context, run_id).cursor < context.folder_of(read(context, run_id)).events.stat().st_size:
                ingest(context)
        counts.append(len(statements))
    assert counts[1] <= counts[0] + 20, "the file is read in a few parts"


def live_runs(context: Context) -> list[LiveRun]:
    with snapshot(context.engine) as db:
        return runs.live(db, ended_after=now())


def test_a_first_line_that_is_longer_than_the_first_read_is_an_event(context: Context, submitted: list[int]) -> None:
    wide = Points(attempt=1, at=1.0, step=1, values={f"{number:0100}": 1.0 for number in range(1_000)})
    assert len(wide.model_dump_json()) > FIRST_BYTES
    report(context, submitted[0], wide, *points_from(2, 1))
    ingest(context)
    with snapshot(context.engine) as db:
        assert len(points.names(db, submitted[0])) == 1_001


def test_a_run_has_so_many_series_and_no_more(context: Context, submitted: list[int]) -> None:
    """Forces the fault: each event has metrics of other names, and each name is a row."""
    run_id = submitted[0]
    report(context, run_id, *points_from(1, 1))
    ingest(context)
    for first in range(0, 2 * MAX_SERIES, MAX_SERIES // 2):
        values: dict[str, float | None] = {f"name-{number}": 1.0 for number in range(first, first + MAX_SERIES // 2)}
        report(context, run_id, Points(attempt=1, at=1.0, step=2, values=values))
    report(context, run_id, *points_from(3, 1))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, len(run.latest), run.latest["loss"]) == (State.RUNNING, 3, MAX_LISTED + 1, 1.0)
    with snapshot(context.engine) as db:
        assert db.scalar(select(func.count()).where(Series.run_id == run_id)) == MAX_SERIES


def test_the_names_of_a_runs_series_have_so_many_bytes_and_no_more(context: Context, submitted: list[int]) -> None:
    """Forces the fault: all names are as wide as one may be, and the run's own loss comes after them."""
    run_id = submitted[0]
    wide = {f"{number:04}" + "\N{GRINNING FACE}" * (MAX_NAME_CHARS - 4): 1.0 for number in range(MAX_SERIES)}
    report(context, run_id, Points(attempt=1, at=1.0, step=1, values=dict(wide)), *points_from(2, 1))
    ingest(context)
    ingest(context)
    run = read(context, run_id)
    with snapshot(context.engine) as db:
        names = points.names(db, run_id)
    assert (
        MAX_SERIES_BYTES - MAX_NAME_BYTES < sum(len(name.encode()) for name in names) <= MAX_SERIES_BYTES + len("loss")
    )
    assert sum(len(name.encode()) for name in run.latest) <= MAX_LISTED_BYTES + len("loss")
    assert (run.state, run.step, run.latest["loss"]) == (State.RUNNING, 2, 1.0)


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
