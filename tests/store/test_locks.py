"""Many workers on the same runs at once: no deadlock, and every write stays."""

import random
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from sqlalchemy import Engine, select

from contract.folder.events import Points
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import SubmissionDeferred
from contract.lifecycle.state import LIVE, MOVES, State
from store import job_status, jobs, runs, submissions, transitions
from store.job_status import Observation
from store.lifecycle import creation
from store.locks import lock_submission
from store.metrics import curves, points, series
from store.runs import Advance
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Move, Run
from store.transitions import Transition
from tests.testing.specs import Experiment

WORKERS, SIZE, SECONDS, TURNS, MOST_S = 2, 200, 2.5, 4, 300.0  # of each kind; runs; so long and so often they go on
Worker = Callable[[Engine, random.Random], None]


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        ids = creation.create(db, experiment({"seed": list(range(SIZE))}))[1]
        submissions.take(db, runs.queued(db, "local", SIZE // 2), "first")
        transitions.apply_to_submission(db, "first", State.PENDING, job_id="1")
    return ids


def submit(engine: Engine, dice: random.Random) -> None:
    """Take some, and place them, give them back, or leave one back and place the others."""
    with snapshot(engine) as db:
        waiting = list(runs.queued(db, "local", SIZE))
    if not (some := dice.sample(waiting, min(len(waiting), 40))):
        return
    name = f"{some[0].key}-{some[0].attempt}"
    with transaction(engine) as db:
        taken = submissions.take(db, some, name)
    if not taken:
        return
    with transaction(engine) as db:
        assert submissions.renew_lease(db, name)
    with transaction(engine) as db:
        if dice.random() < 0.5:
            transitions.apply_to_submission(db, name, State.QUEUED, SubmissionDeferred(message="full"))
            return
        lock_submission(db, name, Run.state == State.SUBMITTING)
        transitions.apply_if_unchanged(db, taken[-1], State.QUEUED)
        transitions.apply_to_submission(db, name, State.PENDING, job_id="1")


def ingest(engine: Engine, dice: random.Random) -> None:
    """Each run that is read says one step more; now and then a job has left, and the run is queued again."""
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    read = dice.sample(live, min(len(live), 60))
    if not read:
        return
    with transaction(engine) as db:
        before = runs.lock_progress(db, read)
        ours = [run for run in read if run.id in before]
        points.put_many(db, {run.id: [_step(run.cursor + 1)] for run in ours})
        runs.advance(db, [Advance(run, run.cursor + 1, {}, 1) for run in ours], before)
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    with transaction(engine) as db, db.no_autoflush:
        for run in runs.lock_as_read(db, dice.sample(live, len(live) // 10)).values():
            run.cursor += 1
            points.put(db, run.id, [_step(run.cursor)])
            if run.state in LIVE:
                transitions.apply(db, run, None, Transition(State.QUEUED))


def poll(engine: Engine, dice: random.Random) -> None:
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    with transaction(engine) as db:
        pending = [Observation(run.job_id, PendingReason.RESOURCES) for run in dice.sample(live, len(live))]
        job_status.store_observations(db, pending)
    with transaction(engine) as db:
        mixed = [run.job_id for run in dice.sample(live, len(live))]
        jobs.write_reachability(db, mixed[::2], mixed[1::2])


def terminate(engine: Engine, dice: random.Random) -> None:
    with snapshot(engine) as db:
        asked = runs.in_state(db, *LIVE)
    if asked:
        with transaction(engine) as db:
            ids = [run.current_job_id for run in asked if run.current_job_id]
            jobs.write_stop_requests(db, dice.sample(ids, len(ids)), force=dice.random() < 0.5)


def cancel(engine: Engine, dice: random.Random) -> None:
    """All of the experiment are asked to stop; a few that wait are ended, and the others let go on."""
    with transaction(engine) as db:
        runs.request_stop(db, Run.experiment_id == 1)
    with transaction(engine) as db:
        assert transitions.cancel_queued(db, 2) <= 2
    with transaction(engine) as db:  # nobody does so but this test: the next launch needs somebody to take
        for run in db.scalars(select(Run).order_by(Run.id).with_for_update(key_share=True)):
            run.stop_requested_at = None
    time.sleep(0.1)


def _step(cursor: int) -> Points:
    return Points(attempt=1, at=0.0, step=cursor, values={"loss": 0.0})


KINDS: tuple[Worker, ...] = (submit, ingest, poll, terminate, cancel)


@pytest.mark.ring("all")
def test_many_workers_on_the_same_runs_neither_deadlock_nor_lose_a_write(engine: Engine, run_ids: list[int]) -> None:
    """Forces the race: ten workers submit, ingest, poll, end and cancel the same runs, each in an order of its own."""
    began, turns = time.monotonic(), dict.fromkeys((worker.__name__ for worker in KINDS), 0)
    failed: list[BaseException] = []

    def go(worker: Worker, seed: int) -> None:
        dice = random.Random(seed)
        while not failed and time.monotonic() - began < (MOST_S if min(turns.values()) < TURNS else SECONDS):
            try:
                worker(engine, dice)
            except BaseException as error:
                failed.append(error)
            turns[worker.__name__] += 1
            time.sleep(0.002)  # SQLite's writers do not queue: who comes again at once would keep the others out

    threads = [threading.Thread(target=go, args=(worker, n)) for n, worker in enumerate(KINDS * WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    assert min(turns.values()) >= TURNS, turns
    _check_history(engine, run_ids)


def _check_history(engine: Engine, run_ids: list[int]) -> None:
    """Every run's moves are a chain that ends where it is, and each byte that was read is one point."""
    with snapshot(engine) as db:
        rows = db.scalars(select(Run).order_by(Run.id)).all()
        stored = sum(len(found.steps) for _, found in curves.whole(db, series.states(db)))
        for run in rows:
            moves = db.scalars(select(Move).where(Move.run_id == run.id).order_by(Move.id)).all()
            assert all(one.new == two.old and two.new in MOVES[State(one.new)] for one, two in pairwise(moves))
            assert moves[-1].new == run.state
            assert sum(move.new == State.SUBMITTING for move in moves) == run.attempt
    assert [run.id for run in rows] == run_ids
    assert stored == sum(run.cursor for run in rows) > 0
