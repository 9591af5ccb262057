"""Ended runs with jobs, histories and points, inserted in bulk: half of them in sweeps, half of them alone."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

import numpy as np
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.orm import Session

from benchmarks.scale.cluster import SPEC
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.state import State
from contract.metric_names import EVERY_STEP, HELDOUT_ACCURACY
from contract.spec.expanded import Expanded, read_experiment
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.points import Series
from store.tables.runs import Job, Move, Run

SERIES = (*EVERY_STEP, HELDOUT_ACCURACY)
STEPS = 1000 // len(SERIES)  # so that a run has about a thousand points
SWEEP = 50  # runs of a sweep; as many further experiments have one run each
BATCH = 1000  # runs in a transaction
END = JobEnd(kind=EndKind.COMPLETED)
ENDS = {State.DONE: 0.9, State.FAILED: 0.05, State.CANCELLED: 0.05}
HISTORY = (State.QUEUED, State.SUBMITTING, State.PENDING, State.RUNNING)


def add_ended_runs(engine: Engine, size: int, over: timedelta, *, steps: int = STEPS) -> int:
    """Insert `size` runs that ended at regular moments of the last days; return the number of their points."""
    ended, points = read_experiment({"name": "ended", "base": SPEC}), 0
    for first in range(0, size, BATCH):
        count = min(BATCH, size - first)
        ends = [now() - over * (1 - (first + number) / size) for number in range(count)]
        with transaction(engine) as db:
            run_ids = _add_runs(db, ended, ends)
            _add_jobs(db, dict(zip(run_ids, ends, strict=True)))
            points += _add_points(db, run_ids, steps)
    return points


def vacuum(engine: Engine) -> None:
    """Do what PostgreSQL's autovacuum does within minutes: clear up and collect statistics."""
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")


def size_bytes(engine: Engine) -> int:
    """Return the size of the database."""
    query = "SELECT pg_database_size(current_database())"
    if engine.dialect.name == "sqlite":
        query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    with engine.connect() as connection:
        return int(connection.exec_driver_sql(query).scalar_one())


def _add_runs(db: Session, ended: Expanded, ends: Sequence[datetime]) -> list[int]:
    owners = _add_experiments(db, ended, ends)
    ((_, point),) = ended.points
    fields = {"spec": point.model_dump(mode="json"), "values": {"seed": 1}, "cluster": "slurm", "world": 1}
    fields |= {
        "steps": STEPS,
        "step": STEPS,
        "attempt": 1,
        "latest": dict.fromkeys(SERIES, 0.5),
        "objective_value": 0.5,
    }
    rows = [
        {
            **fields,
            **{"experiment_id": experiment_id, "number": number, "key": token_hex(6), "state": _end_of(place)},
            **{"created_at": end - timedelta(hours=2), "started_at": end - timedelta(hours=1)},
            **{"moved_at": end, "ended_at": end},
        }
        for place, ((experiment_id, number), end) in enumerate(zip(owners, ends, strict=True))
    ]
    return list(db.scalars(insert(Run).returning(Run.id, sort_by_parameter_order=True), rows))


def _add_experiments(db: Session, ended: Expanded, ends: Sequence[datetime]) -> list[tuple[int, int]]:
    """Insert the experiments of so many runs; return the experiment and the number in it of each run."""
    sizes: list[int] = []
    while (missing := len(ends) - sum(sizes)) > 0:
        sizes += [min(SWEEP, missing), *[1] * min(SWEEP, max(0, missing - SWEEP))]
    document, firsts = ended.spec.model_dump(mode="json"), [sum(sizes[:place]) for place in range(len(sizes))]
    rows = [{"name": f"ended {ends[first]}", "spec": document, "created_at": ends[first]} for first in firsts]
    ids = db.scalars(insert(Experiment).returning(Experiment.id, sort_by_parameter_order=True), rows)
    return [(id_, number) for id_, size in zip(ids, sizes, strict=True) for number in range(size)]


def _end_of(place: int) -> State:
    share, total = place % 100 / 100, 0.0
    for state, part in ENDS.items():
        total += part
        if share < total:
            return state
    return State.CANCELLED


def _add_jobs(db: Session, ends: Mapping[int, datetime]) -> None:
    """Insert the one job of each run, and the run's history."""
    rows: list[dict[str, Any]] = [
        {
            **{"run_id": run_id, "attempt": 1, "name": f"bigbatch-{run_id}-1", "cluster": "slurm"},
            **{"external_id": f"1{run_id}", "hosts": ["h"], "is_gone": True, "observed_end": END},
            **{"exit_step": STEPS},
            **{"exit_cause": ExitCause.DONE, "reported_cause": ExitCause.DONE, "observed_at": end, "ended_at": end},
        }
        for run_id, end in ends.items()
    ]
    db.execute(insert(Job), rows)
    own = select(Job.id).where(Job.run_id == Run.id).scalar_subquery()
    db.execute(update(Run).where(Run.id.in_(ends)).values(current_job_id=own))
    pairs = list(zip((None, *HISTORY), (*HISTORY, State.DONE), strict=True))
    moves = [{"run_id": id_, "old": old, "new": new, "at": end} for id_, end in ends.items() for old, new in pairs]
    db.execute(insert(Move).execution_options(render_nulls=True), moves)


def _add_points(db: Session, run_ids: Sequence[int], steps: int) -> int:
    db.execute(insert(Series), [{"run_id": run_id, "name": name} for run_id in run_ids for name in SERIES])
    numbers = np.arange(1, steps + 1)
    points = Points(numbers, 1.0 / (numbers + 1))
    write_points(db, dict.fromkeys(db.scalars(select(Series.id).where(Series.run_id.in_(run_ids))), points))
    return len(run_ids) * len(SERIES) * steps
