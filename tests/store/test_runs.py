"""Runs in the store: moved once, stopped on request, on both databases."""

import threading
from itertools import product

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import State
from store import runs
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.runs import Move, Run
from store.transitions import apply_if_unchanged
from tests.testing.specs import Experiment

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": [0, 1, 2]}))[1]


def test_an_experiment_is_stored_with_a_queued_run_per_point(engine: Engine, run_ids: list[int]) -> None:
    with snapshot(engine) as db:
        stored = runs.in_state(db, State.QUEUED)
        assert [(run.id, run.number, run.values, run.world) for run in stored] == [
            (run_id, number, {"seed": number}, 2) for number, run_id in enumerate(run_ids)
        ]
        assert [move.new for move in db.scalars(select(Move))] == ["queued"] * 3


def test_one_of_eight_workers_that_move_a_run_wins(engine: Engine, run_ids: list[int]) -> None:
    """Forces the race: eight threads have all seen the run queued before the first of them moves it."""
    barrier, won = threading.Barrier(8), []

    def take() -> None:
        with snapshot(engine) as db:
            run = db.get_one(Run, run_ids[0])
        barrier.wait()
        with transaction(engine) as db:
            won.append(apply_if_unchanged(db, run, State.SUBMITTING, attempt=1))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    with snapshot(engine) as db:
        assert len(db.scalars(select(Move).where(Move.run_id == run_ids[0])).all()) == 2


MOVES = """
queued      submitting cancelled done
submitting  pending queued failed cancelled
pending     running paused queued done failed cancelled
running     paused queued done failed cancelled
paused      queued failed cancelled
done        queued
failed      queued
cancelled   queued
"""  # by hand, not from the code


def test_each_move_is_allowed_or_refused_as_the_table_states(engine: Engine, run_ids: list[int]) -> None:
    allowed = {(State(old), State(new)) for old, *more in map(str.split, MOVES.split("\n")[1:-1]) for new in more}
    found = set()
    for old, new in product(State, State):
        with Session(engine) as db:  # never committed
            run = db.get_one(Run, run_ids[0])
            run.state = old
            try:
                apply_if_unchanged(db, run, new)
            except ValueError:
                continue
        found.add((old, new))
    assert found == allowed


def test_a_move_that_is_not_in_the_table_is_refused(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db, pytest.raises(ValueError, match="may not go from queued to running"):
        apply_if_unchanged(db, db.get_one(Run, run_ids[0]), State.RUNNING)


def test_a_worker_with_a_row_of_an_earlier_attempt_moves_nothing(engine: Engine, run_ids: list[int]) -> None:
    with snapshot(engine) as db:
        late = db.get_one(Run, run_ids[0])
    with transaction(engine) as db:
        run = db.get_one(Run, run_ids[0])
        apply_if_unchanged(db, run, State.SUBMITTING, attempt=1)
        apply_if_unchanged(db, run, State.QUEUED)
    with transaction(engine) as db:
        assert not apply_if_unchanged(db, late, State.SUBMITTING, attempt=1)


def test_a_stop_is_wished_of_those_that_have_not_ended_and_keeps_its_first_moment(
    engine: Engine, run_ids: list[int]
) -> None:
    with transaction(engine) as db:
        apply_if_unchanged(db, db.get_one(Run, run_ids[0]), State.CANCELLED)
        assert runs.request_stop(db, Run.id.in_(run_ids)) == 2
    with transaction(engine) as db:
        first = db.get_one(Run, run_ids[1]).stop_requested_at
        runs.request_stop(db, Run.id.in_(run_ids), StopSource.SHUTDOWN)
    with snapshot(engine) as db:
        run = db.get_one(Run, run_ids[1])
        assert (run.stop_requested_at, run.stop_source) == (first, StopSource.USER)


def test_what_a_transaction_did_before_it_failed_is_undone(engine: Engine, run_ids: list[int]) -> None:
    def cancel_and_fail() -> None:
        with transaction(engine) as db:
            apply_if_unchanged(db, db.get_one(Run, run_ids[0]), State.CANCELLED)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cancel_and_fail()
    with snapshot(engine) as db:
        assert db.get_one(Run, run_ids[0]).state == State.QUEUED
