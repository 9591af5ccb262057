"""Retention of outputs: which runs of an experiment have outputs that their `keep` allows to remove."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import RemovalCause
from contract.lifecycle.state import ENDED
from contract.lifecycle.step import OPEN_STEPS
from contract.metric_direction import is_better_when_higher
from contract.spec.artifacts.retention import BestOutputs, LastOutputs, OutputRetention, RecentOutputs
from store.artifacts.artifacts import OUTPUTS, mark_removed
from store.locks import lock_runs
from store.steps.progress import count_open
from store.tables.artifacts import HAS_RETENTION, Artifact
from store.tables.points import Figure
from store.tables.runs import Run
from store.tables.searches import Search
from store.tables.steps import Step

_RETENTION: TypeAdapter[OutputRetention] = TypeAdapter(OutputRetention)


class RunOutputs(NamedTuple):
    """A run whose outputs are there."""

    run_id: int
    ended_at: datetime
    keep: OutputRetention
    values: Mapping[str, float]  # its best value of each metric by which runs are compared


class OutputPath(NamedTuple):
    """Where an output is."""

    run_id: int
    key: str  # of the run
    path: str


def next_runs(db: Session, after: int, limit: int) -> dict[int, int]:
    """Return runs with outputs that may go one day, above the id `after`, in order, each with its experiment."""
    query = select(Artifact.run_id).where(HAS_RETENTION, Artifact.run_id > after)
    run_ids = db.scalars(query.distinct().order_by(Artifact.run_id).limit(limit)).all()
    return dict(db.execute(select(Run.id, Run.experiment_id).where(Run.id.in_(run_ids)).order_by(Run.id)).all())


def due_runs(db: Session, experiment_id: int, now: datetime) -> list[int]:
    """Return the runs of an experiment whose outputs may go now.

    None goes before all runs and steps of the experiment and its search have ended. A run whose result a run of an open
    workflow took keeps its outputs until that workflow has ended.
    """
    if not _has_ended(db, experiment_id):  # what follows may need them
        return []
    mine = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    own = (Artifact.run_id == Run.id, Artifact.attempt > 0, HAS_RETENTION, Artifact.removed_at.is_(None))
    has_outputs = select(Artifact.run_id).where(*own).exists()
    rows = db.execute(select(Run.id, Run.ended_at, Run.spec["keep"]).where(*mine, has_outputs)).all()
    rules = {row.id: _RETENTION.validate_python(row[2]) for row in rows}
    metrics = {rule.metric for rule in rules.values() if isinstance(rule, BestOutputs)}
    values = _best_values(db, list(rules), metrics)
    due = choose_due([RunOutputs(row.id, row.ended_at, rules[row.id], values.get(row.id, {})) for row in rows], now)
    needed = _taken_by_open(db, due)
    return [run_id for run_id in due if run_id not in needed]


def begin_removal(db: Session, experiment_id: int, run_id: int) -> None:
    """Mark the outputs of a run as removed, unless something needs them since they were found due.

    From then on no run takes them: a run that takes a result locks the run that has it, as this function does.
    """
    if not lock_runs(db, Run.id == run_id, Run.deleted_at.is_(None)):
        return
    if _has_ended(db, experiment_id) and not _taken_by_open(db, [run_id]):
        # also the rows of runs that took this run's result
        mark_removed(db, RemovalCause.RETENTION, Artifact.holder_id == run_id, Artifact.kind.in_(OUTPUTS))


def _has_ended(db: Session, experiment_id: int) -> bool:
    """Return whether all runs and steps of an experiment and its search have ended."""
    mine = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None), Run.state.not_in(ENDED))
    search = (Search.experiment_id == experiment_id, Search.ended_at.is_(None))
    open_ = (select(Run.id).where(*mine), select(Search.id).where(*search))
    return not any(db.scalar(query.limit(1)) for query in open_) and not count_open(db, [experiment_id])


def _taken_by_open(db: Session, run_ids: Sequence[int]) -> set[int]:
    """Return those of the runs whose results runs of workflows took that have not ended."""
    if not run_ids:
        return set()
    open_ = select(Step.experiment_id).where(Step.state.in_(OPEN_STEPS)).distinct()
    mine = (Run.experiment_id.in_(open_), Run.taken_from.in_(run_ids), Run.deleted_at.is_(None))
    return {run_id for run_id in db.scalars(select(Run.taken_from).where(*mine)) if run_id is not None}


def choose_due(found: Sequence[RunOutputs], now: datetime) -> list[int]:
    """Return the runs whose outputs their own rule does not preserve."""
    return [one.run_id for one in found if not _stays(one, found, now)]


def _stays(one: RunOutputs, found: Sequence[RunOutputs], now: datetime) -> bool:
    match one.keep:
        case LastOutputs(runs=runs):
            newest = sorted(found, key=lambda other: (other.ended_at, other.run_id), reverse=True)
            return one in newest[:runs]
        case BestOutputs(metric=metric, runs=runs):
            measured = [other for other in found if metric in other.values]
            if not measured:
                return True  # nothing says which run is the best
            sign = -1.0 if is_better_when_higher(metric) else 1.0
            best = sorted(measured, key=lambda other: (sign * other.values[metric], other.run_id))
            return one in best[:runs]
        case RecentOutputs(days=days):
            return now - one.ended_at < timedelta(days=days)
        case _:
            return True


def paths_to_remove(db: Session, experiment_id: int) -> list[OutputPath]:
    """Return where the outputs are that runs of an experiment wrote themselves and that are marked as removed."""
    query = select(Artifact.run_id, Run.key, Artifact.path).join(Run, Run.id == Artifact.run_id)
    mine = (Run.experiment_id == experiment_id, HAS_RETENTION, Artifact.removed_at.is_not(None))
    return [OutputPath(*row) for row in db.execute(query.where(*mine).order_by(Artifact.run_id, Artifact.name))]


def _best_values(db: Session, run_ids: Sequence[int], metrics: Iterable[str]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for name in metrics:
        column: Any = Figure.most if is_better_when_higher(name) else Figure.least
        query = select(Figure.run_id, column).where(Figure.name == name, Figure.run_id.in_(run_ids))
        for run_id, value in db.execute(query.where(column.is_not(None))):
            found.setdefault(run_id, {})[name] = value
    return found
