"""Populations on stored runs: whose checkpoint a generation begins with, stored once whenever a worker is killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import object_session

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from contract.lifecycle.trial import EndCause, TrialStatus
from scheduler.context import Context
from scheduler.ticks.search import search
from store.search import searches
from store.tables.runs import Run
from store.tables.searches import Trial
from study.search.population import generation_of
from tests.testing.searches import ask, finish_all, make, rows, stored_runs

MEMBERS, GENERATIONS = 4, 4


class Killed(BaseException):
    """The worker is killed."""


def population(context: Context, **change: Any) -> int:
    sampler = {"kind": "population", "members": MEMBERS, "share": 0.25, "seed": 1}
    fields = {"sampler": sampler, "trials": MEMBERS * GENERATIONS, "at_once": 3, "value": "last", **change}
    return make(context, base={"checkpoint": {"at_end": True}, "epochs": 1}, **fields)


def accuracy(run: Run) -> float:
    """Return a number that looks random, and is the same for the same generation."""
    return int.from_bytes(sha256(f"{run.number}".encode()).digest()[:2]) / 2**16


def finish(context: Context, experiment_id: int) -> None:
    """Carry out every run that is queued, each with a checkpoint."""
    for run in stored_runs(context, experiment_id, State.QUEUED):
        folder = RunFolder.of(context.runs_folder, run.id, run.key).checkpoints / "step-0000000022-attempt-1"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
    finish_all(context, experiment_id, accuracy)


def carry_out(context: Context, experiment_id: int) -> list[Trial]:
    for _ in range(3 * GENERATIONS * MEMBERS):
        search(context)
        finish(context, experiment_id)
        found, trials = rows(context, experiment_id)
        if found.ended_at is not None:
            return trials
    raise AssertionError("the search does not end")


def told(trials: list[Trial]) -> list[Any]:
    return [(one.params, one.memory, one.seed, one.value, one.status) for one in trials]


@pytest.mark.ring("all")
def test_each_turn_begins_with_the_checkpoint_of_its_parent(either: Context) -> None:
    experiment_id = population(either)
    trials = carry_out(either, experiment_id)
    found, _ = rows(either, experiment_id)
    assert (found.end_cause, len(trials)) == (EndCause.TRIALS, MEMBERS * GENERATIONS)
    assert {one.status for one in trials} == {TrialStatus.DONE}
    runs = stored_runs(either, experiment_id)
    by_number = {run.number: run for run in runs}
    copies = 0
    for trial, run in zip(trials, runs, strict=True):
        generation = generation_of(trial.memory)
        copies += generation.copied
        assert run.spec["seed"] == trial.number, "each generation has data in an order of its own"
        assert run.spec["schedule"]["rate"] == trial.params["schedule.rate"]
        if generation.parent is None:
            assert (generation.generation, run.spec["initial_weights"]) == (0, None)
            continue
        parent = by_number[trials[generation.parent].first_run]
        folder = RunFolder.of(either.runs_folder, parent.id, parent.key).path
        weights = {"run": parent.id, "folder": str(folder), "checkpoint": "step-0000000022-attempt-1"}
        assert run.spec["initial_weights"] == weights
        assert run.values["initial_weights.run"] == parent.id
        if not generation.copied:
            assert trial.params == trials[generation.parent].params
    generations = [generation_of(one.memory).generation for one in trials]
    assert sorted(generations) == sorted(list(range(GENERATIONS)) * MEMBERS)
    assert copies >= GENERATIONS - 1


def test_no_member_has_two_turns_at_a_time_however_many_may_run(context: Context) -> None:
    experiment_id = population(context, at_once=50)
    for _ in range(3):
        search(context)
    found, trials = rows(context, experiment_id)
    assert [generation_of(one.memory).member for one in trials] == list(range(MEMBERS))
    assert (found.trials, found.ended_at) == (MEMBERS * GENERATIONS, None)


@contextmanager
def killed_at(engine: Engine, number: int) -> Iterator[list[str]]:
    """Kill the worker in the place of its n-th statement or commit; yield those that it executed."""
    seen: list[str] = []

    def on_statement(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)
        if len(seen) == number:
            raise Killed

    def on_commit(_connection: Any) -> None:
        on_statement(None, None, "COMMIT")

    event.listen(engine, "before_cursor_execute", on_statement)
    event.listen(engine, "commit", on_commit)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", on_statement)
        event.remove(engine, "commit", on_commit)


@pytest.mark.ring("all")
def test_every_decision_is_made_once_though_the_worker_is_killed_at_each_statement(context: Context) -> None:
    """Forces the fault: the search tick dies at its first statement, then at its second, ... for each decision."""
    calm = told(carry_out(context, population(context)))
    experiment_id, kills, most = population(context), 0, 0
    for _ in range(3 * GENERATIONS * MEMBERS):
        number = 0
        while True:
            number += 1
            context.memory.searches_seen.clear()
            before = told(rows(context, experiment_id)[1])
            with killed_at(context.engine, number) as seen:
                try:
                    search(context)
                except Killed:
                    kills += 1
                    assert told(rows(context, experiment_id)[1]) == before, seen[-1]
                    continue
            most = max(most, number)
            break
        finish(context, experiment_id)
        if rows(context, experiment_id)[0].ended_at is not None:
            break
    assert told(rows(context, experiment_id)[1]) == calm
    assert most > 10
    assert kills > 100


@pytest.mark.ring("all")
def test_a_member_whose_checkpoint_is_gone_copies_from_another(context: Context) -> None:
    """Forces the fault: a person deletes a checkpoint before the next generation begins."""
    experiment_id = population(context, at_once=MEMBERS)
    search(context)
    finish(context, experiment_id)
    lost = sorted(stored_runs(context, experiment_id), key=accuracy)[1]  # neither copies nor is copied
    (
        RunFolder.of(context.runs_folder, lost.id, lost.key).checkpoints / "step-0000000022-attempt-1/manifest.json"
    ).unlink()
    search(context)
    _, trials = rows(context, experiment_id)
    (failed,) = [one for one in trials if one.status is TrialStatus.FAILED]
    assert failed.memory["parent"] == lost.number
    assert f"run {lost.id}, whose weights it copies, has no checkpoint any more" in str(failed.message)
    trials = carry_out(context, experiment_id)
    member = [one for one in trials if one.memory["member"] == failed.memory["member"]]
    after = next(one for one in member if one.number > failed.number)
    assert after.memory["copied"] is True
    assert {one.status for one in member[2:]} == {TrialStatus.DONE}


def test_a_population_that_is_paused_and_resumed_goes_on_with_the_same_turns(context: Context) -> None:
    experiment_id = population(context, at_once=2)
    search(context)
    ask(context, experiment_id, searches.pause)
    search(context)
    _, trials = rows(context, experiment_id)
    assert {one.status for one in trials} == {TrialStatus.SUSPENDED}
    ask(context, experiment_id, searches.resume)
    search(context)
    _, trials = rows(context, experiment_id)
    assert len(trials) == 2, "no further member takes the places of the two that go on"


@pytest.mark.ring("all")
def test_more_trials_are_further_turns(context: Context) -> None:
    experiment_id = population(context)
    carry_out(context, experiment_id)

    def extend(found: Any) -> bool:
        spec = searches.spec_of(found).model_copy(update={"trials": MEMBERS * (GENERATIONS + 1)})
        db = object_session(found)
        assert db is not None
        searches.extend(db, found, spec)
        return True

    ask(context, experiment_id, extend)
    trials = carry_out(context, experiment_id)
    assert [generation_of(one.memory).generation for one in trials[-MEMBERS:]] == [GENERATIONS] * MEMBERS
