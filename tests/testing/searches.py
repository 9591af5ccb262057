"""Searches in a test's database: made, carried out by reports, and read."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from contract.folder.events import Finished, Points
from contract.lifecycle.state import State
from contract.spec.expanded import read_experiment
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.search import search
from store.lifecycle import creation
from store.search import searches
from store.session import snapshot, transaction
from store.tables.runs import Run
from store.tables.searches import Search, Trial
from tests.testing.events import STARTED, report
from tests.testing.runs import move, read

RATE = {"kind": "log_uniform", "low": 0.01, "high": 1.0}
EPOCH = 22  # steps: 1437 // 64


def make(context: Context, *, base: dict[str, Any] | None = None, **change: Any) -> int:
    """Store an experiment with a search; return the id of the experiment."""
    document = {"space": {"schedule.rate": RATE}, "sampler": {"kind": "random", "seed": 3}, "trials": 4, "at_once": 2}
    run = {
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 64,
        "epochs": 9,
        "resources": {"kind": "local", "ranks_per_node": 2},
    }
    spec = read_experiment({"name": "test", "base": run | (base or {}), "search": document | change})
    with transaction(context.engine) as db:
        experiment_id, run_ids = creation.create(db, spec)
    assert run_ids == []
    return experiment_id


def rows(context: Context, experiment_id: int) -> tuple[Search, list[Trial]]:
    with snapshot(context.engine) as db:
        found = searches.of_experiment(db, experiment_id)
        assert found is not None
        return found, list(searches.trials_of(db, found.id))


def stored_runs(context: Context, experiment_id: int, *states: State) -> list[Run]:
    with snapshot(context.engine) as db:
        query = select(Run).where(Run.experiment_id == experiment_id).order_by(Run.number)
        return [run for run in db.scalars(query) if not states or run.state in states]


def begin(context: Context, run_id: int) -> None:
    attempt = read(context, run_id).attempt
    report(context, run_id, STARTED.model_copy(update={"attempt": attempt}))


def begin_all(context: Context, experiment_id: int) -> list[int]:
    """Let the first trials of a search begin; return the ids of their runs."""
    search(context)
    submit_queued(context)
    ids = [run.id for run in stored_runs(context, experiment_id)]
    for run_id in ids:
        begin(context, run_id)
    return ids


def train(context: Context, run_id: int, *accuracies: float | None, ends: bool = False) -> None:
    """Report these accuracies, one for each epoch from the first on."""
    attempt = read(context, run_id).attempt
    for epoch, accuracy in enumerate(accuracies, 1):
        values: dict[str, float | None] = {
            "epoch": float(epoch),
            "heldout_accuracy": float("nan") if accuracy is None else accuracy,
        }
        report(context, run_id, Points(attempt=attempt, at=1.0, step=EPOCH * epoch, values=values))
    if ends:
        report(context, run_id, Finished(attempt=attempt, at=2.0, step=EPOCH * len(accuracies)))
    ingest(context)


def leave(context: Context, run_id: int) -> None:
    """Let a run follow the request to stop."""
    with transaction(context.engine) as db:
        run = db.get_one(Run, run_id)
        assert run.stop_requested_at is not None
        move(db, run, State.CANCELLED)


def finish_all(context: Context, experiment_id: int, accuracy: Callable[[Run], float | None]) -> None:
    """Carry out every run that is queued."""
    submit_queued(context)
    for run in stored_runs(context, experiment_id, State.PENDING):
        begin(context, run.id)
        train(context, run.id, accuracy(run), ends=True)


def ask(context: Context, experiment_id: int, request: Callable[[Search], bool]) -> None:
    with transaction(context.engine) as db:
        found = searches.of_experiment(db, experiment_id)
        assert found is not None
        locked = searches.lock(db, found.id)
        assert locked is not None
        assert request(locked)
