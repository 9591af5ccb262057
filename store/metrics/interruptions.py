"""Interruptions of an experiment's runs and the cost of their checkpoints: the data for checkpoint advice."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.api.checkpoint_advice import CheckpointHistory
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from contract.metric_names import CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from store.metrics import curves, series
from store.metrics.table import Series
from store.tables import Job, Move, Restart, Run, now

FROM_OUTSIDE = (ExitCause.PREEMPTED, ExitCause.NODE_FAILURE, ExitCause.LOST)
NO_INTERRUPTION = (
    ExitCause.DONE,
    ExitCause.CANCELLED,
    ExitCause.TIME_LIMIT,
)  # before a time limit a run is warned, and saves


class _Trained(NamedTuple):
    """A run that has begun."""

    id: int
    attempt: int
    retries_after: int
    started_at: datetime
    ended_at: datetime | None


class _Moved(NamedTuple):
    """A change of a run's state."""

    run_id: int
    new: State
    at: datetime


class Interruption(NamedTuple):
    """An attempt that ended early, and how many steps the next attempt repeated; None before the next one starts."""

    cause: ExitCause
    lost_steps: int | None


def observed(db: Session, experiment_id: int, *, interval_s: float | None) -> list[CheckpointHistory]:
    """Return what was measured of an experiment's runs, for each number of ranks."""
    columns = (Run.id, Run.world, Run.attempt, Run.retries_after, Run.started_at, Run.ended_at)
    begun = select(*columns).where(Run.experiment_id == experiment_id, Run.started_at.is_not(None))
    by_world: dict[int, list[_Trained]] = defaultdict(list)
    for run_id, world, attempt, after, started_at, ended_at in db.execute(begun):
        assert started_at is not None  # the query selects runs that have begun
        by_world[world].append(_Trained(run_id, attempt, after, started_at, ended_at))
    return [_of(db, world, by_world[world], interval_s) for world in sorted(by_world)]


def _of(db: Session, world: int, trained: Sequence[_Trained], interval_s: float | None) -> CheckpointHistory:
    ids = [run.id for run in trained]
    ended = list(_ended(db, {run.id: run.attempt for run in trained if run.attempt}))
    undone = [each for each in ended if each.lost_steps != 0]
    saves, cost_s = _mean(db, ids, CHECKPOINT_STALL_S)
    return CheckpointHistory(
        world=world,
        runs=len(trained),
        trained_s=_trained_s(db, trained),
        interruptions=len(undone),
        paused=len(ended) - len(undone),
        lost_steps=sum(one.lost_steps or 0 for one in ended),
        saves=saves,
        cost_s=cost_s,
        write_s=_mean(db, ids, CHECKPOINT_WRITE_S)[1],
        interval_s=interval_s,
    )


def _ended(db: Session, attempts: Mapping[int, int]) -> Iterable[Interruption]:
    """Yield attempts that were interrupted: from outside, or so that the run was retried."""
    lost = {
        (row.run_id, row.attempt): row.lost_steps
        for row in db.execute(
            select(Restart.run_id, Restart.attempt, Restart.lost_steps).where(Restart.run_id.in_(attempts))
        )
    }
    # most attempts of a large experiment were not interrupted: the database leaves them out
    early = (Job.exit_cause.is_not(None), Job.exit_cause.not_in(NO_INTERRUPTION), Job.exit_step > 0)
    ended = select(Job.run_id, Job.attempt, Job.exit_cause).where(Job.run_id.in_(attempts), *early)
    for run_id, attempt, cause in db.execute(ended.order_by(Job.run_id, Job.attempt)):
        if cause and (attempt < attempts[run_id] or cause in FROM_OUTSIDE):
            yield Interruption(cause, lost.get((run_id, attempt + 1)))


def _mean(db: Session, run_ids: Sequence[int], name: str) -> tuple[int, float | None]:
    """Return how often a metric was measured, and its mean."""
    count, total = 0, 0.0
    for part in series.parts_of(run_ids):
        for _, points in curves.whole(db, series.states(db, Series.run_id.in_(part), Series.name == name)):
            finite = points.values[np.isfinite(points.values)]
            count, total = count + len(finite), total + float(finite.sum())
    return count, total / count if count else None


def _trained_s(db: Session, trained: Sequence[_Trained]) -> float:
    """Return the seconds in which runs were running, without the time between attempts."""
    again = {run.id for run in trained if run.attempt > 1 or run.retries_after}
    once = sum(_seconds(run.started_at, run.ended_at) for run in trained if run.id not in again)
    query = select(Move.run_id, Move.new, Move.at).where(Move.run_id.in_(again)).order_by(Move.run_id, Move.id)
    moves = [_Moved(*row) for row in db.execute(query)]
    return once + sum(_running_s(list(mine)) for _, mine in groupby(moves, key=lambda move: move.run_id))


def _running_s(moves: Sequence[_Moved]) -> float:
    ends: list[datetime | None] = [move.at for move in moves[1:]] + [None]
    return sum(_seconds(move.at, end) for move, end in zip(moves, ends, strict=True) if move.new == State.RUNNING)


def _seconds(start: datetime, end: datetime | None) -> float:
    return ((end or now()) - start).total_seconds()
