"""What interrupted runs, and what checkpoints cost, as stored."""

from datetime import timedelta

from sqlalchemy import Engine, select, update

from contract.folder.events import Points, Resumed
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from store.lifecycle import creation
from store.metrics import interruptions, points, restarts
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Job, Run
from tests.testing.specs import Experiment
from tests.testing.stored_runs import end_attempt
from tests.testing.stored_runs import move as move_row

LIFE = (State.SUBMITTING, State.PENDING, State.RUNNING)


def test_an_interruption_is_what_undid_steps_and_time_is_what_was_trained(
    sqlite_engine: Engine, experiment: Experiment
) -> None:
    """Four attempts: a node that fails, a pause that undoes nothing, another failure, a failure of the run's own."""
    with transaction(sqlite_engine) as db:
        id_, (run_id,) = creation.create(db, experiment())
        run = db.get_one(Run, run_id)
        story = [
            (ExitCause.NODE_FAILURE, 30),
            (ExitCause.PREEMPTED, 0),
            (ExitCause.LOST, None),
            (ExitCause.FAILURE, None),
        ]
        for number, (cause, lost) in enumerate(story, start=1):
            for state in LIFE:
                move_row(db, run, state, step=100 * number)
            end_attempt(db, run, cause, "as reported")
            move_row(db, run, State.QUEUED if number < len(story) else State.FAILED)
            if lost is not None:
                restarts.store_restarts(db, run_id, [Resumed(attempt=number + 1, at=0.0, step=0, lost_steps=lost)])
        db.flush()
        for job in db.scalars(select(Job)):
            job.ran_s = 30.0 * 60
        measured = [
            Points(attempt=1, at=0, step=s, values={"checkpoint_stall_s": s, "checkpoint_write_s": 9}) for s in (1, 3)
        ]
        points.put(db, run_id, measured)
    with transaction(sqlite_engine) as db:
        (history,) = interruptions.observed(db, id_, interval_s=600.0)
    assert (history.world, history.runs, history.interruptions, history.paused, history.lost_steps) == (2, 1, 2, 1, 30)
    assert history.trained_s == 4 * 30 * 60  # of each attempt, whatever lies between
    assert (history.saves, history.cost_s, history.write_s, history.interval_s) == (2, 2.0, 9.0, 600.0)


def test_runs_that_nothing_happened_to_count_their_time_alone(sqlite_engine: Engine, experiment: Experiment) -> None:
    with transaction(sqlite_engine) as db:
        id_, ids = creation.create(db, experiment({"seed": [0, 1, 2]}))
        for run_id in ids[:2]:  # the third never starts
            for state in LIFE:
                move_row(db, db.get_one(Run, run_id), state)
        db.execute(update(Job).values(started_at=now() - timedelta(hours=1)))
        end_attempt(db, db.get_one(Run, ids[0]), ExitCause.DONE, None)
        move_row(db, db.get_one(Run, ids[0]), State.DONE)
        db.execute(update(Job).where(Job.run_id == ids[0]).values(ran_s=30.0 * 60))
    with transaction(sqlite_engine) as db:
        (history,) = interruptions.observed(db, id_, interval_s=None)
    assert (history.runs, history.interruptions, history.saves, history.cost_s) == (2, 0, 0, None)
    assert abs(history.trained_s - 1.5 * 3600) < 5
