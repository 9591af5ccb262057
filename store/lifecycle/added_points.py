"""Points that are added to a stored experiment: further values of its axes, or points outside its grid."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.spec.any_run import AnyRun
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.equal_values import value_key
from contract.spec.grid.grid import Values
from store.lifecycle.new_runs import insert_runs
from store.tables.experiments import Experiment
from store.tables.runs import Run

Points = Sequence[tuple[Values, AnyRun]]


class NewPoints(NamedTuple):
    """The requested points that an experiment lacks."""

    grid: Points
    extra: Points  # outside the grid
    existing: int  # requested points that the experiment has
    total: int  # runs of the experiment with the new points


def lock(db: Session, experiment_id: int) -> Experiment | None:
    """Lock an experiment, so that two requests do not give the same numbers; None if there is none."""
    mine = (Experiment.id == experiment_id, Experiment.deleted_at.is_(None))
    return db.scalar(select(Experiment).where(*mine).with_for_update(key_share=True))


def new_points(db: Session, experiment_id: int, grid: Points, extra: Points) -> NewPoints:
    """Return the points of the grid, and those outside it, that the experiment has no runs for."""
    mine = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    stored = [value_key(values) for values in db.scalars(select(Run.values).where(*mine))]
    known = set(stored)
    in_grid = [point for point in grid if value_key(point[0]) not in known]
    known.update(value_key(values) for values, _ in in_grid)
    others = {value_key(point[0]): point for point in extra}
    new = [point for key, point in others.items() if key not in known]
    added = len(in_grid) + len(new)
    return NewPoints(in_grid, new, len(grid) + len(others) - added, len(stored) + added)


def add(db: Session, experiment: Experiment, grid: ExperimentSpec | None, new: NewPoints) -> list[int]:
    """Store the runs of new points; return the ids of the runs.

    `grid` is the spec with the larger grid, None if the grid stays.
    """
    last = db.scalar(select(func.max(Run.number)).where(Run.experiment_id == experiment.id))
    first = 0 if last is None else last + 1
    if grid is not None:
        experiment.spec = {**experiment.spec, "axes": grid.model_dump(mode="json")["axes"]}
    if new.extra:
        experiment.added_points = [*(experiment.added_points or []), *(values for values, _ in new.extra)]
    return insert_runs(db, experiment.id, [*new.grid, *new.extra], first=first)
