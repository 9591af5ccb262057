"""The search tick on stored runs: each result is stored once, whenever a worker is killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import State
from contract.lifecycle.trial import EndCause, TrialStatus
from scheduler.context import Context
from scheduler.ticks import search as tick
from scheduler.ticks.search import search
from store import experiments
from store.search import searches
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.searches import finish_all, make, rows, stored_runs


class Killed(BaseException):
    """The worker is killed."""


def test_a_search_carries_out_its_trials_and_ends(either: Context) -> None:
    context = either
    experiment_id = make(context)
    for _ in range(6):
        search(context)
        finish_all(context, experiment_id, lambda run: 1.0 - run.values["schedule.rate"])
    found, trials = rows(context, experiment_id)
    assert (found.end_cause, len(trials)) == (EndCause.TRIALS, 4)
    assert [trial.status for trial in trials] == [TrialStatus.DONE] * 4
    for trial, run in zip(trials, stored_runs(context, experiment_id), strict=True):
        assert trial.value == pytest.approx(1.0 - trial.params["schedule.rate"])
        assert run.values == trial.params
        assert run.spec["schedule"]["rate"] == trial.params["schedule.rate"]


def test_the_experiment_has_not_ended_between_two_trials(context: Context) -> None:
    experiment_id = make(context, trials=2, at_once=1)
    search(context)
    finish_all(context, experiment_id, lambda run: 0.5)
    with snapshot(context.engine) as db:
        summary = experiments.summaries(db, [experiment_id])[experiment_id]
        assert summary.search == searches.Counts(True, False, 2, 0)
        for state in State:
            which = experiments.has_joint_state(state)
            found = db.scalars(select(experiments.Experiment.id).where(which)).all()
            assert found == ([experiment_id] if state is State.QUEUED else [])


@contextmanager
def _killed_before_commit(engine: Engine) -> Iterator[Session]:
    with transaction(engine) as db:
        yield db
        raise Killed


@contextmanager
def _killed_after_commit(engine: Engine) -> Iterator[Session]:
    with transaction(engine) as db:
        yield db
    raise Killed


def _killed_before_the_transaction(engine: Engine) -> Any:
    raise Killed


KILLS = [_killed_before_the_transaction, _killed_before_commit, _killed_after_commit]


@pytest.mark.ring("all")
@pytest.mark.parametrize("sampler", ["random", "tpe", "cma_es"])
def test_each_result_is_told_once_however_often_the_worker_is_killed(
    context: Context, monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    """Forces the fault: the worker is killed at every point around the one transaction of each tick."""
    chosen = {"kind": sampler, "seed": 3}

    def accuracy(run: Run) -> float:
        return 1.0 - float(run.values["schedule.rate"])

    alone = make(context, sampler=chosen)
    for _ in range(6):
        search(context)
        finish_all(context, alone, accuracy)
    killed = make(context, sampler=chosen)
    told: dict[int, Any] = {}
    for _ in range(6):
        for kill in KILLS:
            monkeypatch.setattr(tick, "transaction", kill)
            with _expected_kill(context, killed):
                search(context)
        monkeypatch.setattr(tick, "transaction", transaction)
        search(context)
        finish_all(context, killed, accuracy)
        for trial in rows(context, killed)[1]:
            if trial.ended_at is not None:
                assert told.setdefault(trial.number, (trial.ended_at, trial.value)) == (trial.ended_at, trial.value)
    (first, expected), (second, found) = rows(context, alone), rows(context, killed)
    assert (first.end_cause, second.end_cause) == (EndCause.TRIALS, EndCause.TRIALS)
    assert [(one.params, one.value, one.seed) for one in found] == [
        (one.params, one.value, one.seed) for one in expected
    ]
    assert len(stored_runs(context, killed)) == 4
    assert set(told) == {0, 1, 2, 3}


@contextmanager
def _expected_kill(context: Context, experiment_id: int) -> Iterator[None]:
    """Expect that a tick is killed if it has anything to store."""
    version = rows(context, experiment_id)[0].version
    try:
        yield
    except Killed:
        return
    assert rows(context, experiment_id)[0].version == version


def test_two_workers_store_one_decision(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the race: another worker's tick comes between the decision and its transaction."""
    experiment_id = make(context)
    real = tick.new_trials

    def second_first(*arguments: Any) -> Any:
        monkeypatch.setattr(tick, "new_trials", real)
        search(context)
        return real(*arguments)

    monkeypatch.setattr(tick, "new_trials", second_first)
    search(context)
    assert len(rows(context, experiment_id)[1]) == len(stored_runs(context, experiment_id)) == 2
