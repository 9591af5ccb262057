"""Many hands on the same runs at once: nobody waits in a circle, and what each has written stays."""

import random
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from sqlalchemy import Engine, func, select

from contract.folder.events import Points
from contract.lifecycle.state import LIVE, MOVES, State
from store import job_status as looks
from store import runs, stops
from store import submissions as launches
from store.job_status import Said
from store.metrics import points
from store.runs import Told
from store.session import snapshot, transaction
from store.tables import Move, Point, Run, now
from tests.conftest import Experiment

HANDS, SIZE, SECONDS, TURNS, MOST_S = 2, 200, 2.5, 4, 300.0  # of each kind; runs; so long and so often they go on
Hand = Callable[[Engine, random.Random], None]


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        ids = runs.create(db, experiment({"seed": list(range(SIZE))}))[1]
        launches.take(db, runs.queued(db, "local", SIZE // 2), "first")
        launches.place(db, "first", "1")
    return ids


def launch(engine: Engine, dice: random.Random) -> None:
    """Take some, and place them, give them back, or leave one back and place the others."""
    with snapshot(engine) as db:
        waiting = list(runs.queued(db, "local", SIZE))
    if not (some := dice.sample(waiting, min(len(waiting), 40))):
        return
    name = f"{some[0].key}-{some[0].attempt}"
    with transaction(engine) as db:
        taken = launches.take(db, some, name)
    if not taken:
        return
    with transaction(engine) as db:
        assert launches.still_ours(db, name)
    with transaction(engine) as db:
        if dice.random() < 0.5:
            launches.move_named(db, name, State.QUEUED, reason="full")
            return
        launches.hold(db, name)
        runs.move(db, taken[-1], State.QUEUED)
        launches.place(db, name, "1")


def collect(engine: Engine, dice: random.Random) -> None:
    """Each run that is read says one step more; now and then a job has left, and the run is queued again."""
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    read = dice.sample(live, min(len(live), 60))
    if not read:
        return
    with transaction(engine) as db:
        ours = runs.read_on_together(db, [Told(run, run.cursor + 1, {}, 1) for run in read])
        points.put_together(db, {run.id: [_step(run.cursor + 1)] for run in read if run.id in ours})
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    with transaction(engine) as db, db.no_autoflush:
        for run in runs.hold_as_read(db, dice.sample(live, len(live) // 10)).values():
            run.cursor += 1
            points.put(db, run.id, [_step(run.cursor)])
            if run.state in LIVE:
                runs.move_held(db, run, State.QUEUED)


def look(engine: Engine, dice: random.Random) -> None:
    with snapshot(engine) as db:
        live = runs.live(db, ended_after=now())
    with transaction(engine) as db:
        looks.note(db, [Said(run.id, run.attempt, "Resources", "resources") for run in dice.sample(live, len(live))])
    with transaction(engine) as db:
        mixed = [run.id for run in dice.sample(live, len(live))]
        runs.note_silence(db, mixed[::2], mixed[1::2])


def end(engine: Engine, dice: random.Random) -> None:
    with snapshot(engine) as db:
        asked = runs.in_state(db, *LIVE)
    if asked:
        with transaction(engine) as db:
            runs.note_told_to_end(db, dice.sample(asked, len(asked)), force=dice.random() < 0.5)


def stop(engine: Engine, dice: random.Random) -> None:
    """All of the experiment are asked to stop; a few that wait are ended, and the others let go on."""
    with transaction(engine) as db:
        runs.want_stop(db, Run.experiment_id == 1)
    with transaction(engine) as db:
        assert stops.cancel_queued(db, 2) <= 2
    with transaction(engine) as db:  # nobody does so but this test: the next launch needs somebody to take
        for run in db.scalars(select(Run).order_by(Run.id).with_for_update(key_share=True)):
            run.stop_wanted_at = None
    time.sleep(0.1)


def _step(cursor: int) -> Points:
    return Points(attempt=1, at=0.0, step=cursor, values={"loss": 0.0})


KINDS: tuple[Hand, ...] = (launch, collect, look, end, stop)


def test_many_hands_on_the_same_runs_neither_block_each_other_nor_lose_a_word(
    engine: Engine, run_ids: list[int]
) -> None:
    """Forces the race: ten hands launch, collect, look at, end and stop the same runs, each in an order of its own."""
    began, turns = time.monotonic(), dict.fromkeys((hand.__name__ for hand in KINDS), 0)
    failed: list[BaseException] = []

    def go(hand: Hand, seed: int) -> None:
        dice = random.Random(seed)
        while not failed and time.monotonic() - began < (MOST_S if min(turns.values()) < TURNS else SECONDS):
            try:
                hand(engine, dice)
            except BaseException as error:
                failed.append(error)
            turns[hand.__name__] += 1
            time.sleep(0.002)  # SQLite's writers do not queue: who comes again at once would keep the others out

    threads = [threading.Thread(target=go, args=(hand, n)) for n, hand in enumerate(KINDS * HANDS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    assert min(turns.values()) >= TURNS, turns
    _told_whole(engine, run_ids)


def _told_whole(engine: Engine, run_ids: list[int]) -> None:
    """Every run's moves are a chain that ends where it is, and each byte that was read is one point."""
    with snapshot(engine) as db:
        rows = db.scalars(select(Run).order_by(Run.id)).all()
        stored = db.scalar(select(func.count()).select_from(Point))
        for run in rows:
            moves = db.scalars(select(Move).where(Move.run_id == run.id).order_by(Move.id)).all()
            assert all(one.new == two.old and two.new in MOVES[State(one.new)] for one, two in pairwise(moves))
            assert moves[-1].new == run.state
            assert sum(move.new == State.SUBMITTING for move in moves) == run.attempt
    assert [run.id for run in rows] == run_ids
    assert stored == sum(run.cursor for run in rows) > 0
