"""Trials that stop and go on, and searches that pause, end and are extended."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from contract.folder.events import Points
from contract.lifecycle.state import State
from contract.lifecycle.trial import EndCause, TrialStatus
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks import search as tick
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.search import search
from store import runs
from store.search import searches, usage
from store.session import snapshot, transaction
from store.tables.runs import Job, Run
from tests.testing.events import report
from tests.testing.runs import move, read
from tests.testing.searches import ask, begin_all, finish_all, leave, make, rows, stored_runs, train


def test_a_worse_trial_stops_at_its_rung_and_goes_on_when_it_is_among_the_best(context: Context) -> None:
    experiment_id = make(context, trials=3, at_once=3, early_stopping={"kind": "asha", "first": 1.0, "reduction": 2})
    first, second, third = begin_all(context, experiment_id)
    train(context, first, 0.9)
    train(context, second, 0.5)
    search(context)
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["running", "waiting", "running"]
    assert read(context, second).stop_requested_at is not None
    leave(context, second)
    train(context, first, None)
    with transaction(context.engine) as db:  # the first one fails: its value at the rung stays
        move(db, db.get_one(Run, first), State.FAILED)
    train(context, third, 0.4)
    search(context)
    leave(context, third)
    search(context)
    found, trials = rows(context, experiment_id)
    assert [trial.status for trial in trials] == ["failed", "stopped", "stopped"]
    assert [trial.rungs for trial in trials] == [[0.9], [0.5], [0.4]]
    assert found.end_cause is EndCause.TRIALS


def test_a_promoted_trial_is_the_same_run_and_its_stop_is_forgotten(either: Context) -> None:
    context = either
    rule = {"kind": "asha", "first": 1.0, "reduction": 2}
    experiment_id = make(context, trials=4, at_once=4, early_stopping=rule)
    ids = begin_all(context, experiment_id)
    train(context, ids[0], 0.9)
    train(context, ids[1], 0.5)
    search(context)
    leave(context, ids[1])
    search(context)
    for run_id in ids[2:]:
        train(context, run_id, 0.1)
    search(context)
    run = read(context, ids[1])
    assert (run.state, run.stop_source, run.attempt) == (State.QUEUED, None, 1)
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["running", "running", "waiting", "waiting"]
    submit_queued(context)
    assert read(context, ids[1]).attempt in (1, 2)  # its last job may not have left


def test_a_trial_that_diverges_ends_and_counts_as_the_worst(context: Context) -> None:
    experiment_id = make(context, trials=2, at_once=2)
    search(context)
    finish_all(context, experiment_id, lambda run: 0.5 if run.number else None)
    search(context)
    trials = rows(context, experiment_id)[1]
    assert [(trial.status, trial.value) for trial in trials] == [(TrialStatus.FAILED, None), (TrialStatus.DONE, 0.5)]


def test_values_that_make_no_valid_run_fail_the_trial_and_name_the_field(context: Context) -> None:
    space = {"batch": {"kind": "integer", "low": 4, "high": 12}}  # the ends divide over two ranks, 5 does not
    experiment_id = make(context, space=space, trials=9, at_once=9)
    search(context)
    trials = rows(context, experiment_id)[1]
    failed = [trial for trial in trials if trial.status is TrialStatus.FAILED]
    assert sorted(trial.params["batch"] for trial in failed) == [5, 7, 9, 11]
    assert all("does not divide" in (trial.message or "") and trial.ended_at for trial in failed)
    assert len(stored_runs(context, experiment_id)) == 5


def test_repeats_are_runs_of_one_trial_and_their_mean_is_its_value(context: Context) -> None:
    experiment_id = make(context, trials=2, at_once=1, repeats={"times": 2})
    search(context)
    assert [run.spec["seed"] for run in stored_runs(context, experiment_id)] == [0, 1]
    finish_all(context, experiment_id, lambda run: 0.4 + 0.2 * run.values["seed"])
    search(context)
    trials = rows(context, experiment_id)[1]
    assert (trials[0].value, trials[1].first_run) == (pytest.approx(0.5), 2)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("combine", "value"), [("median", 0.5), ("worst", 0.1)])
def test_repeats_are_combined_as_the_spec_says(context: Context, combine: str, value: float) -> None:
    experiment_id = make(context, trials=1, at_once=1, repeats={"times": 3, "combine": combine})
    search(context)
    finish_all(context, experiment_id, lambda run: [0.1, 0.5, 0.6][run.values["seed"]])
    search(context)
    assert rows(context, experiment_id)[1][0].value == pytest.approx(value)


def test_trials_are_compared_by_the_seconds_of_all_their_ranks(context: Context) -> None:
    rule = {"kind": "asha", "unit": "rank_seconds", "first": 8.0, "last": 100.0, "reduction": 2}
    experiment_id = make(context, trials=2, at_once=2, early_stopping=rule)  # of two ranks each
    first, second = begin_all(context, experiment_id)
    for run_id, accuracy in ((first, 0.9), (second, 0.5)):
        for at_s in (3.0, 4.0):
            step, values = int(10 * at_s), {"trained_s": at_s, "heldout_accuracy": accuracy}
            report(context, run_id, Points(attempt=1, at=1.0, step=step, values=values))
            ingest(context)
            search(context)
            is_compared = bool(rows(context, experiment_id)[1][0 if run_id == first else 1].rungs)
            assert is_compared is (2 * at_s >= 8.0)
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["running", "waiting"]


def test_a_pause_stops_the_runs_and_a_resumption_lets_the_same_runs_go_on(context: Context) -> None:
    experiment_id = make(context)
    search(context)
    submit_queued(context)
    ids = [run.id for run in stored_runs(context, experiment_id)]
    ask(context, experiment_id, searches.pause)
    search(context)
    assert all(read(context, run_id).stop_requested_at for run_id in ids)
    for run_id in ids:
        leave(context, run_id)
    search(context)
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["suspended", "suspended"]
    ask(context, experiment_id, searches.resume)
    search(context)
    assert [read(context, run_id).state for run_id in ids] == [State.QUEUED, State.QUEUED]
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["running", "running"]


def test_a_stop_of_the_experiment_ends_its_search(context: Context) -> None:
    experiment_id = make(context)
    search(context)
    with transaction(context.engine) as db:
        searches.request_stop(db, experiment_id)
        runs.request_stop(db, Run.experiment_id == experiment_id)
    cancel(context)
    search(context)
    found, trials = rows(context, experiment_id)
    assert (found.end_cause, [trial.status for trial in trials]) == (EndCause.REQUEST, ["stopped", "stopped"])


def test_a_search_ends_with_its_budget(context: Context) -> None:
    experiment_id = make(context, budget={"rank_hours": 1.0})
    search(context)
    submit_queued(context)
    with transaction(context.engine) as db:  # the jobs began a quarter of an hour ago
        for job in db.scalars(select(Job)):
            job.lease_renewed_at -= timedelta(minutes=16)
    tick_again(context)
    assert rows(context, experiment_id)[0].ended_at is None
    with snapshot(context.engine) as db:  # two runs of two ranks for a quarter of an hour
        assert sum(usage.rank_seconds(db, experiment_id).values()) == pytest.approx(4 * 16 * 60, rel=0.01)
    assert [run.stop_source for run in stored_runs(context, experiment_id)] == ["search", "search"]
    for run in stored_runs(context, experiment_id):
        leave(context, run.id)
    tick_again(context)
    found, trials = rows(context, experiment_id)
    assert (found.end_cause, [trial.status for trial in trials]) == (EndCause.BUDGET, ["stopped", "stopped"])


def test_trials_that_the_end_of_the_budget_stopped_go_on_with_a_larger_one(context: Context) -> None:
    experiment_id = make(context, budget={"rank_hours": 1.0}, trials=2)
    ids = begin_all(context, experiment_id)
    train(context, ids[0], 0.4)
    with transaction(context.engine) as db:
        for job in db.scalars(select(Job)):
            job.lease_renewed_at -= timedelta(minutes=16)
    tick_again(context)
    for run_id in ids:
        leave(context, run_id)
    tick_again(context)
    found, trials = rows(context, experiment_id)
    assert (found.end_cause, [trial.value for trial in trials]) == (EndCause.BUDGET, [0.4, None])
    with transaction(context.engine) as db:
        locked = searches.lock(db, found.id)
        assert locked is not None
        spec = searches.spec_of(locked)
        larger = {"budget": spec.budget and spec.budget.model_copy(update={"rank_hours": 9.0})}
        searches.extend(db, locked, spec.model_copy(update=larger))
    tick_again(context)
    assert [trial.status for trial in rows(context, experiment_id)[1]] == ["running", "running"]
    assert [read(context, run_id).state for run_id in ids] == [State.QUEUED, State.QUEUED]


def tick_again(context: Context) -> None:
    """Let time alone be a reason for a tick to look again."""
    context.memory.searches_seen.clear()
    search(context)


def test_an_extension_lets_an_ended_search_go_on(context: Context) -> None:
    experiment_id = make(context, trials=1)
    for _ in range(3):
        search(context)
        finish_all(context, experiment_id, lambda run: 0.5)
    found, _ = rows(context, experiment_id)
    assert found.ended_at is not None
    with transaction(context.engine) as db:
        locked = searches.lock(db, found.id)
        assert locked is not None
        spec = searches.spec_of(locked)
        searches.extend(db, locked, spec.model_copy(update={"trials": 3}))
    search(context)
    assert len(rows(context, experiment_id)[1]) == 3


def test_a_tick_on_which_nothing_changed_reads_no_trial(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    make(context)
    for _ in range(2):
        search(context)
    monkeypatch.setattr(tick, "read_search", lambda *_: pytest.fail("the search was read"))
    search(context)
