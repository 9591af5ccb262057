"""The runs of a step that a reference is about, among those that are done, and their figures."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import ArtifactKind
from contract.lifecycle.state import State
from contract.spec.objective import Objective
from store.holders import holders_of
from store.metrics.figures import figure_of
from store.tables.artifacts import Artifact
from store.tables.points import Figure
from store.tables.runs import Run


class ChosenRun(NamedTuple):
    """A run, and the figure by which it was chosen or that was asked for."""

    id: int
    key: str
    figure: float | None = None


def best_run(db: Session, step_id: int, objective: Objective) -> ChosenRun | None:
    """Return the run with the best value of the objective, and that value; None without one."""
    column = figure_of(objective)
    order = column.desc() if objective.maximizes else column.asc()
    mine = (*_done(step_id), Figure.name == objective.metric, column.is_not(None))
    query = select(Run.id, Run.key, column).join(Figure, Figure.run_id == Run.id).where(*mine)
    row = db.execute(query.order_by(order, Run.number).limit(1)).one_or_none()
    return None if row is None else ChosenRun(*row)


def last_run(db: Session, step_id: int) -> ChosenRun | None:
    """Return the run with the largest number; None without one."""
    query = select(Run.id, Run.key).where(*_done(step_id)).order_by(Run.number.desc()).limit(1)
    row = db.execute(query).one_or_none()
    return None if row is None else ChosenRun(*row)


def all_runs(db: Session, step_ids: Collection[int]) -> dict[int, list[ChosenRun]]:
    """Return all runs of steps, by step, in the order of their numbers; a step without any has no entry."""
    found: dict[int, list[ChosenRun]] = {}
    done = (Run.step_id.in_(step_ids), Run.state == State.DONE, Run.deleted_at.is_(None))
    for row in db.execute(select(Run.step_id, Run.id, Run.key).where(*done).order_by(Run.number)):
        assert row.step_id is not None
        found.setdefault(row.step_id, []).append(ChosenRun(row.id, row.key))
    return found


def last_values(db: Session, run_ids: Sequence[int], metric: str) -> dict[int, float]:
    """Return the last value of a metric of each of these runs that has one."""
    found: dict[int, float] = {}
    for first in range(0, len(run_ids), 5_000):
        mine = (Figure.run_id.in_(run_ids[first : first + 5_000]), Figure.name == metric, Figure.last.is_not(None))
        rows = db.execute(select(Figure.run_id, Figure.last).where(*mine))
        found.update({row[0]: row[1] for row in rows if row[1] is not None})
    return found


def newest_checkpoints(db: Session, run_ids: Sequence[int]) -> dict[int, tuple[ChosenRun, str]]:
    """Return the newest recorded checkpoint of each run: the run in whose folder it is, and its path there."""
    mine = (Artifact.run_id.in_(run_ids), Artifact.kind == ArtifactKind.CHECKPOINT, Artifact.removed_at.is_(None))
    query = select(Artifact.run_id, Artifact.holder_id, Run.key, Artifact.path).join(Run, Run.id == Artifact.holder_id)
    rows = db.execute(query.where(*mine).order_by(Artifact.run_id, Artifact.name))
    return {row[0]: (ChosenRun(row[1], row[2]), row[3]) for row in rows}


def with_files(db: Session, runs: Sequence[ChosenRun]) -> list[ChosenRun]:
    """Return in the place of each run that took a result the run in whose folder its files are."""
    found = holders_of(db, [run.id for run in runs])
    return [run._replace(id=found[run.id].id, key=found[run.id].key) for run in runs if run.id in found]


def specs(db: Session, run_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the specs of runs."""
    return {row[0]: row[1] for row in db.execute(select(Run.id, Run.spec).where(Run.id.in_(run_ids)))}


def _done(step_id: int) -> tuple[Any, ...]:
    return Run.step_id == step_id, Run.state == State.DONE, Run.deleted_at.is_(None)
