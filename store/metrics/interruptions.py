"""Interruptions of an experiment's runs and the cost of their checkpoints: the data for checkpoint advice."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.api.checkpoint_advice import CheckpointHistory
from contract.lifecycle.exit_cause import ExitCause
from contract.metric_names import CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from store import run_times
from store.metrics import curves, series
from store.tables.points import Series
from store.tables.runs import Job, Restart, Run

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


class Interruption(NamedTuple):
    """An attempt that ended early, and how many steps the next attempt repeated; None before the next one starts."""

    cause: ExitCause
    lost_steps: int | None


def observed(db: Session, experiment_id: int, *, interval_s: float | None) -> list[CheckpointHistory]:
    """Return what was measured of an experiment's runs, for each number of ranks."""
    begun = select(Run.id, Run.world, Run.attempt)
    by_world: dict[int, list[_Trained]] = defaultdict(list)
    for run_id, world, attempt in db.execute(
        begun.where(Run.experiment_id == experiment_id, Run.started_at.is_not(None))
    ):
        by_world[world].append(_Trained(run_id, attempt))
    return [_of(db, world, by_world[world], interval_s) for world in sorted(by_world)]


def _of(db: Session, world: int, trained: Sequence[_Trained], interval_s: float | None) -> CheckpointHistory:
    ids = [run.id for run in trained]
    ended = list(_ended(db, {run.id: run.attempt for run in trained if run.attempt}))
    undone = [each for each in ended if each.lost_steps != 0]
    saves, cost_s = _mean(db, ids, CHECKPOINT_STALL_S)
    return CheckpointHistory(
        world=world,
        runs=len(trained),
        trained_s=_trained_s(db, ids),
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


def _trained_s(db: Session, run_ids: Sequence[int]) -> float:
    """Return the seconds in which runs were running, as far as they are known."""
    found = run_times.attempts(db, Run.id, Run.id.in_(run_ids))
    return sum(one.seconds or 0.0 for several in found.values() for one in several)
