"""Stops of many runs: those that wait end together, each with its move; what another hand took is left to it."""

import pytest
from sqlalchemy import Engine, select

from contract.lifecycle.state import State
from store import runs, stops
from store.session import snapshot, transaction
from store.tables import Move, Run
from tests.conftest import Experiment


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        return runs.create(db, experiment({"seed": [0, 1, 2, 3, 4]}))[1]


def test_queued_runs_end_in_one_statement_oldest_first_and_each_with_its_move(
    engine: Engine, run_ids: list[int]
) -> None:
    with transaction(engine) as db:
        runs.move(db, db.get_one(Run, run_ids[0]), State.SUBMITTING, attempt=1)
        runs.want_stop(db, Run.id.in_(run_ids[:4]), "enough")
        assert stops.any_queued(db)
        assert (stops.cancel_queued(db, 2), stops.cancel_queued(db, 2), stops.cancel_queued(db, 2)) == (2, 1, 0)
        assert not stops.any_queued(db)
    with snapshot(engine) as db:
        ended = {run.id: run for run in runs.in_state(db, State.CANCELLED)}
        moves = db.execute(select(Move.run_id, Move.old, Move.reason, Move.at).where(Move.new == State.CANCELLED)).all()
    assert list(ended) == run_ids[1:4]
    assert [tuple(move) for move in moves] == [
        (id_, State.QUEUED, "enough", run.ended_at) for id_, run in ended.items()
    ]
    assert {(run.reason, run.moved_at == run.ended_at) for run in ended.values()} == {("enough", True)}


def test_live_runs_are_ended_until_their_jobs_are_seen_to_have_left(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        for run_id in run_ids[:3]:
            run = db.get_one(Run, run_id)
            runs.move(db, run, State.SUBMITTING, attempt=1)
            runs.move(db, run, State.PENDING, job_id=str(run_id), gone_reason="left" if run_id == run_ids[2] else None)
        runs.want_stop(db, Run.id.in_([run_ids[0], run_ids[2], run_ids[4]]))
        assert [run.id for run in stops.live(db)] == [run_ids[0]]
