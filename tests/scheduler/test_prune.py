"""The prune tick: it removes points and history entries of runs that ended long ago, and nothing else."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.events import Points
from contract.lifecycle.state import State
from contract.metric_names import HELDOUT_ACCURACY, LOSS
from contract.settings import Settings
from scheduler.context import Context
from scheduler.ticks import prune as prune_module
from scheduler.ticks.prune import prune
from store import experiments
from store.lifecycle import creation
from store.metrics import chunk_rows, chunks, curves, points, series
from store.metrics.retention import Retention, remove_points
from store.session import snapshot, transaction
from store.tables.points import Series
from store.tables.runs import Move, Run
from tests.testing.runs import make_older, move, read, start_job
from tests.testing.specs import Experiment

DAY_S = 24 * 3600.0
STEPS = 20
ALL_MOVES = ["queued", "submitting", "pending", "running", "done"]


@pytest.fixture(autouse=True)
def _time_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one tick remove everything, however busy the machine is; a series has four chunks of five points."""
    for module in (chunk_rows, chunks):
        monkeypatch.setattr(module, "CHUNK", 5)
    monkeypatch.setattr(chunks, "FOLD", 5)
    monkeypatch.setattr(prune_module, "BUDGET_S", 3600.0)


@pytest.fixture
def trained(context: Context, experiment: Experiment) -> list[int]:
    """Four runs with two series of 20 points: two ended 40 days ago, one ended 20 days ago, one is running."""
    with transaction(context.engine) as db:
        run_ids = creation.create(db, experiment({"seed": [0, 1, 2, 3]}))[1]
        for run_id in run_ids:
            run = start_job(db, run_id)
            values = [{LOSS: 1.0 / step, HELDOUT_ACCURACY: step / 100} for step in range(1, STEPS + 1)]
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=n, values=dict(v)) for n, v in enumerate(values)])
            run.latest, run.step = dict(values[-1]), STEPS
    with transaction(context.engine) as db:
        for run_id in run_ids[:3]:
            move(db, db.get_one(Run, run_id), State.DONE)
    for run_id, days in zip(run_ids, (40, 40, 20), strict=False):
        make_older(context, run_id, ended_at=days * DAY_S)
    return run_ids


def with_retention(context: Context, *, points: int | None = None, history: int | None = None) -> Context:
    return replace(context, retention=Retention.of_days(points, history))


def count_points(context: Context, run_ids: list[int]) -> list[int]:
    with snapshot(context.engine) as db:
        found = [curves.whole(db, series.states(db, Series.run_id == run_id)) for run_id in run_ids]
        return [sum(len(points.steps) for _, points in each) for each in found]


def moves(context: Context, run_id: int) -> list[str]:
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)))


def test_without_a_setting_nothing_is_removed(context: Context, trained: list[int]) -> None:
    prune(context)
    assert count_points(context, trained) == [2 * STEPS] * 4
    assert [moves(context, run_id) for run_id in trained[:3]] == [ALL_MOVES] * 3


def test_points_of_runs_that_ended_longer_ago_are_removed_and_summaries_stay(
    context: Context, trained: list[int]
) -> None:
    prune(with_retention(context, points=30))
    assert count_points(context, trained) == [0, 0, 2 * STEPS, 2 * STEPS]
    ended = read(context, trained[0])
    assert ended.points_removed_at is not None
    assert (ended.latest[HELDOUT_ACCURACY], ended.objective_value, ended.state) == (0.2, 0.2, State.DONE)
    assert [read(context, run_id).points_removed_at for run_id in trained[2:]] == [None, None]
    assert moves(context, trained[0]) == ALL_MOVES
    with snapshot(context.engine) as db:
        assert points.names(db, trained[0]) == []
        assert experiments.summaries(db, [ended.experiment_id])[ended.experiment_id].best == (0.2, ended.id)


def test_history_loses_the_entries_of_waiting_alone(context: Context, trained: list[int]) -> None:
    prune(with_retention(context, history=30))
    assert [moves(context, run_id) for run_id in trained[:3]] == [["running", "done"]] * 2 + [ALL_MOVES]
    assert moves(context, trained[3]) == ALL_MOVES[:-1]
    assert count_points(context, trained) == [2 * STEPS] * 4
    assert read(context, trained[0]).history_removed_at is not None


def test_a_live_run_is_untouched_however_old_it_is(context: Context, trained: list[int]) -> None:
    live = trained[3]
    make_older(context, live, created_at=400 * DAY_S, started_at=400 * DAY_S, moved_at=400 * DAY_S)
    prune(with_retention(context, points=1, history=1))
    assert count_points(context, trained) == [0, 0, 0, 2 * STEPS]
    assert moves(context, live) == ALL_MOVES[:-1]


def test_a_worker_that_is_killed_between_two_batches_leaves_the_rest_to_the_next(
    context: Context, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the worker ends after its second transaction, in the middle of a run, and inside its third."""
    monkeypatch.setattr(prune_module, "MAX_ROWS", 3)
    dying = with_retention(context, points=30)
    with monkeypatch.context() as patch:
        patch.setattr(prune_module, "remove_points", _dying_in_the_third_call(remove_points))
        with pytest.raises(KeyboardInterrupt):
            prune(dying)
    assert sum(count_points(context, trained[:2])) == 4 * STEPS - 20, (
        "six rows are gone: two blocks of cells, four chunks; the third transaction is undone"
    )
    assert read(context, trained[0]).points_removed_at is None, "some of its points are still there"
    assert read(context, trained[0]).latest[LOSS] == 1.0 / STEPS
    prune(with_retention(context, points=30))
    assert count_points(context, trained) == [0, 0, 2 * STEPS, 2 * STEPS]
    assert all(read(context, run_id).points_removed_at for run_id in trained[:2])


def _dying_in_the_third_call(remove: Callable[..., bool]) -> Callable[..., bool]:
    calls: Iterator[int] = iter(range(1, 100))

    def call(db: Session, *arguments: object, **named: object) -> bool:
        more = remove(db, *arguments, **named)
        if next(calls) == 3:
            raise KeyboardInterrupt
        return bool(more)

    return call


def test_a_transaction_removes_no_more_points_than_its_limit(
    context: Context, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the load: each tick has time for one transaction."""
    monkeypatch.setattr(prune_module, "MAX_ROWS", 3)
    monkeypatch.setattr(prune_module, "BUDGET_S", 0.0)
    pruned = with_retention(context, points=30)
    remaining = []
    for _ in range(6):
        prune(pruned)
        remaining.append(sum(count_points(context, trained[:2])))
    # a run has two blocks of cells, which go first, and eight chunks of five points
    assert remaining == [75, 60, 45, 40, 25, 10]


def test_a_removal_happens_once(context: Context, trained: list[int]) -> None:
    pruned = with_retention(context, points=30, history=30)
    prune(pruned)
    first = read(context, trained[0])
    prune(pruned)
    again = read(context, trained[0])
    assert first.points_removed_at == again.points_removed_at
    assert first.history_removed_at == again.history_removed_at


def test_four_workers_at_once_remove_everything_once(
    context: Context, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: four workers remove the same runs in small transactions."""
    monkeypatch.setattr(prune_module, "MAX_ROWS", 2)
    pruned = with_retention(context, points=30, history=30)
    with ThreadPoolExecutor(4) as pool:
        for worker in [pool.submit(prune, pruned) for _ in range(4)]:
            worker.result()
    prune(pruned)
    assert count_points(context, trained) == [0, 0, 2 * STEPS, 2 * STEPS]
    assert [moves(context, run_id) for run_id in trained[:3]] == [["running", "done"]] * 2 + [ALL_MOVES]


def test_a_worker_reads_the_days_from_the_settings(tmp_path: Path) -> None:
    of_points = Context.of(Settings(home=tmp_path, slurm=False, points_days=30)).retention
    assert of_points == Retention(points=timedelta(days=30), history=None)
    with pytest.raises(ValidationError, match="history_days"):
        Settings(home=tmp_path, history_days=0)
