"""What interrupted the runs of an experiment and what their checkpoints cost: what advice on saving is made of."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.api.checkpoint_advice import Seen
from contract.lifecycle.state import State
from contract.metric_names import CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from contract.spec.retry import Cause
from store.tables import Attempt, Move, Point, Restart, Run, Series, now

FROM_OUTSIDE = (Cause.PREEMPTED, Cause.NODE_FAILURE, Cause.LOST)
NO_INTERRUPTION = (Cause.DONE, Cause.CANCELLED, Cause.TIME_LIMIT)  # before a time limit a run is warned, and saves


class Ended(NamedTuple):
    """An attempt that ended before its time, and how many steps the next one took again; None: it has not begun yet."""

    cause: Cause
    lost_steps: int | None


def seen(db: Session, experiment_id: int, *, interval_s: float | None) -> list[Seen]:
    """What was seen of an experiment's runs, those of one number of ranks together."""
    columns = (Run.id, Run.world, Run.attempt, Run.state, Run.started_at, Run.ended_at)
    rows = db.execute(select(*columns).where(Run.experiment_id == experiment_id, Run.started_at.is_not(None))).all()
    by_world: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        by_world[row.world].append(row)
    return [_of(db, world, by_world[world], interval_s) for world in sorted(by_world)]


def _of(db: Session, world: int, rows: Sequence[Any], interval_s: float | None) -> Seen:
    ids = [row.id for row in rows]
    ended = list(_ended(db, {row.id: row.attempt for row in rows if row.attempt}))
    undone = [one for one in ended if one.lost_steps != 0]
    saves, cost_s = _mean(db, ids, CHECKPOINT_STALL_S)
    return Seen(
        world=world,
        runs=len(rows),
        trained_s=_trained_s(db, rows),
        interruptions=len(undone),
        paused=len(ended) - len(undone),
        lost_steps=sum(one.lost_steps or 0 for one in ended),
        saves=saves,
        cost_s=cost_s,
        write_s=_mean(db, ids, CHECKPOINT_WRITE_S)[1],
        interval_s=interval_s,
    )


def _ended(db: Session, attempts: Mapping[int, int]) -> Iterable[Ended]:
    """Attempts that something interrupted: from outside, or so that the run was tried again."""
    lost = {
        (row.run_id, row.attempt): row.lost_steps
        for row in db.scalars(select(Restart).where(Restart.run_id.in_(attempts)))
    }
    for row in db.scalars(select(Attempt).where(Attempt.run_id.in_(attempts))):
        cause, is_last = Cause(row.cause), row.number >= attempts[row.run_id]
        if cause not in NO_INTERRUPTION and (not is_last or cause in FROM_OUTSIDE) and row.step:
            yield Ended(cause, lost.get((row.run_id, row.number + 1)))


def _mean(db: Session, run_ids: Sequence[int], name: str) -> tuple[int, float | None]:
    """How often something was measured, and its mean."""
    mine = (Series.run_id.in_(run_ids), Series.name == name)
    query = select(func.count(Point.value), func.avg(Point.value)).join(Series, Series.id == Point.series_id)
    count, mean = db.execute(query.where(*mine)).one()
    return count, mean


def _trained_s(db: Session, rows: Sequence[Any]) -> float:
    """Seconds that runs were running; of those that were tried again, without the time between attempts."""
    once = sum(_seconds(row.started_at, row.ended_at) for row in rows if row.attempt <= 1)
    again = [row.id for row in rows if row.attempt > 1]
    query = select(Move.run_id, Move.new, Move.at).where(Move.run_id.in_(again)).order_by(Move.run_id, Move.id)
    moves = db.execute(query).all()
    return once + sum(_running_s(list(mine)) for _, mine in groupby(moves, key=lambda move: move.run_id))


def _running_s(moves: Sequence[Any]) -> float:
    ends: list[datetime | None] = [move.at for move in moves[1:]] + [None]
    return sum(_seconds(move.at, end) for move, end in zip(moves, ends, strict=True) if move.new == State.RUNNING)


def _seconds(start: datetime, end: datetime | None) -> float:
    return ((end or now()) - start).total_seconds()
