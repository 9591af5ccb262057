"""The queue of a cluster that this service fills itself: which runs have its ranks, which runs wait, and their pace."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import LIVE, State
from store.run_times import attempts
from store.runs import waiting_for
from store.tables.runs import Run

MAX_AHEAD = 200  # runs; an estimate beyond so many is none
PACE_RUNS = 5  # newest runs of an experiment that show its pace
MAX_PACES = 20  # experiments


class QueuedRun(NamedTuple):
    """A run that has ranks of the cluster, or waits for them."""

    id: int
    experiment_id: int
    world: int
    steps: int  # 0: unknown
    step: int


class LocalQueue(NamedTuple):
    """What a waiting run waits for."""

    live: Sequence[QueuedRun]
    ahead: Sequence[QueuedRun]  # older runs that wait too, at most MAX_AHEAD
    step_s: dict[int, float]  # seconds per step, by experiment; an experiment without a trained step is absent


_COLUMNS = (Run.id, Run.experiment_id, Run.world, Run.steps, Run.step)


def read_local_queue(db: Session, run: Run) -> LocalQueue:
    """Return the runs that have ranks of the run's cluster, and the runs that get ranks before it."""
    return _read(db, run.cluster, Run.id < run.id)


def read_whole_queue(db: Session, cluster: str) -> LocalQueue:
    """Return what a run of the cluster would wait for that is submitted now."""
    return _read(db, cluster)


def _read(db: Session, cluster: str, *which: ColumnElement[bool]) -> LocalQueue:
    busy = (Run.cluster == cluster, Run.state.in_([*LIVE, State.SUBMITTING]))
    live = [QueuedRun._make(row) for row in db.execute(select(*_COLUMNS).where(*busy).order_by(Run.id))]
    older = select(*_COLUMNS).where(*waiting_for(cluster), *which).order_by(Run.id).limit(MAX_AHEAD)
    ahead = [QueuedRun._make(row) for row in db.execute(older)]
    return LocalQueue(live, ahead, _paces(db, {one.experiment_id for one in (*live, *ahead)}))


def _paces(db: Session, experiments: Collection[int]) -> dict[int, float]:
    if len(experiments) > MAX_PACES:
        return {}
    found = {}
    for experiment in experiments:
        # an interrupted run may have repeated steps
        trained = (Run.experiment_id == experiment, Run.step > 0, Run.started_at.is_not(None), Run.attempt == 1)
        query = select(Run.id, Run.step).where(*trained).order_by(Run.number.desc())
        steps = dict(db.execute(query.limit(PACE_RUNS)).all())
        times = attempts(db, Run.id, Run.id.in_(steps))
        known = {run_id: seconds for run_id, (one,) in times.items() if (seconds := one.seconds)}
        if known:
            found[experiment] = sum(known.values()) / sum(steps[run_id] for run_id in known)
    return found
