"""Stops of many runs: queued runs end together, each with its history entry; a run that another worker has is left."""

import pytest
from sqlalchemy import Engine, select

from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import StopRequested
from contract.lifecycle.state import State
from store import runs, transitions
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.runs import Move, Run
from tests.testing.specs import Experiment
from tests.testing.stored_runs import current_job, move

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": [0, 1, 2, 3, 4]}))[1]


def test_queued_runs_end_in_one_statement_oldest_first_and_each_with_its_move(
    engine: Engine, run_ids: list[int]
) -> None:
    with transaction(engine) as db:
        move(db, db.get_one(Run, run_ids[0]), State.SUBMITTING)
        runs.request_stop(db, Run.id.in_(run_ids[:4]))
        assert runs.any_queued_stop(db)
        assert [transitions.cancel_queued(db, 2) for _ in range(3)] == [2, 1, 0]
        assert not runs.any_queued_stop(db)
    with snapshot(engine) as db:
        ended = {run.id: run for run in runs.in_state(db, State.CANCELLED)}
        moves = db.execute(select(Move.run_id, Move.old, Move.reason, Move.at).where(Move.new == State.CANCELLED)).all()
    assert list(ended) == run_ids[1:4]
    assert [tuple(move) for move in moves] == [
        (id_, State.QUEUED, StopRequested(), run.ended_at) for id_, run in ended.items()
    ]
    assert {(run.reason, run.moved_at == run.ended_at) for run in ended.values()} == {(StopRequested(), True)}


def test_live_runs_are_ended_until_their_jobs_are_seen_to_have_left(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        for run_id in run_ids[:3]:
            run = db.get_one(Run, run_id)
            move(db, run, State.SUBMITTING)
            move(db, run, State.PENDING)
            if run_id == run_ids[2]:
                current_job(db, run).observed_end = JobEnd(kind=EndKind.COMPLETED)
        db.flush()
        runs.request_stop(db, Run.id.in_([run_ids[0], run_ids[2], run_ids[4]]))
        assert [run.id for run in runs.stop_requested(db)] == [run_ids[0]]
