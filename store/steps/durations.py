"""How far the runs of steps are, and how long steps take.

A step takes the time in which at least one job of its runs waits for its cluster or runs. The service may be off
between two attempts, or before the step gets its runs; that tells nothing of how long the step takes.
"""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from contract.lifecycle.step import StepState
from store.run_times import attempts, busy_seconds
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.steps import Step

LATEST = 8  # earlier experiments in which durations are looked for


class Done(NamedTuple):
    """Training steps of the runs of a step."""

    step: int
    steps: int


def training_steps(db: Session, step_ids: Collection[int]) -> dict[int, Done]:
    """Return how many training steps the runs of these steps took, and how many they will take."""
    mine = (Run.step_id.in_(step_ids), Run.deleted_at.is_(None))
    query = select(Run.step_id, func.sum(Run.step), func.sum(Run.steps)).where(*mine).group_by(Run.step_id)
    return {row[0]: Done(int(row[1]), int(row[2])) for row in db.execute(query) if row[0] is not None}


def measured(db: Session, step_ids: Collection[int]) -> dict[int, float]:
    """Return the seconds that these steps took, so far; a step for which that is not known is absent."""
    found = attempts(db, Run.step_id, Run.step_id.in_(step_ids), Run.deleted_at.is_(None))
    times = {step_id: busy_seconds(several, with_start=True) for step_id, several in found.items()}
    return {step_id: seconds for step_id, seconds in times.items() if seconds is not None}


def of_last_time(db: Session, experiment_id: int, name: str) -> dict[str, float]:
    """Return the seconds that each step took when it was last carried out in one of LATEST experiments of this name.

    A step with a run that took a finished result was not carried out.
    """
    runs = exists().where(Run.step_id == Step.id)
    carried_out = (runs, ~exists().where(Run.step_id == Step.id, Run.taken_from.is_not(None)))
    mine = (Experiment.name == name, Experiment.id < experiment_id, Experiment.deleted_at.is_(None))
    latest = db.scalars(select(Experiment.id).where(*mine).order_by(Experiment.id.desc()).limit(LATEST)).all()
    done = (Step.experiment_id.in_(latest), Step.state == StepState.DONE, *carried_out)
    newest = select(func.max(Step.id).label("id")).where(*done).group_by(Step.name)
    names = dict(db.execute(select(Step.id, Step.name).where(Step.id.in_(newest))).all())
    return {names[step_id]: seconds for step_id, seconds in measured(db, names).items()}
