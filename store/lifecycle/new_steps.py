"""Steps and their runs: inserted once, whatever is killed."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from contract.lifecycle.step import StepReason, StepState
from contract.spec.expanded import Expanded
from contract.spec.grid.grid import MAX_POINTS
from contract.spec.grid.step_grid import Points
from contract.spec.objective import Objective
from contract.spec.steps.step import StepSpec, with_objective
from contract.spec.steps.types import ABSENT, field_of
from store.lifecycle import added_points
from store.lifecycle.new_runs import StepPoints, insert_runs_of_steps
from store.steps.transitions import StepChange, lock_steps, move_steps, record_created
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.steps import Step, StepCode


class TooManyRunsError(ValueError):
    """The experiment would have more runs than an experiment may have."""


def create_steps(db: Session, experiment_id: int, new: Expanded, *, forced: Collection[str] = ()) -> list[int]:
    """Store the steps of a new experiment, and the runs of those that wait for nothing; return the ids of the runs.

    `forced`: the names of the steps none of whose runs takes a finished run's result.
    """
    rows: list[dict[str, Any]] = [
        {
            "experiment_id": experiment_id,
            "position": position,
            "name": step.name,
            "needs": step.needed(),
            "on_failure": step.on_failure,
            "max_parallel": step.max_parallel,
            "pack": step.pack,
            "force": step.name in forced,
        }
        for position, step in enumerate(new.spec.steps)
    ]
    ids = list(db.scalars(insert(Step).returning(Step.id, sort_by_parameter_order=True), rows))
    record_created(db, ids)
    _store_codes(db, dict(zip(ids, new.spec.steps, strict=True)))
    known = zip(ids, rows, new.points_of_steps(), strict=True)
    points = {
        step_id: StepPoints(step_id, of_step, row["force"])
        for step_id, row, of_step in known
        if of_step is not None and not row["needs"]
    }
    move_steps(db, [StepChange(step_id, StepState.WAITING, StepState.RUNNING) for step_id in points])
    return insert_runs_of_steps(db, db.get_one(Experiment, experiment_id), list(points.values()), first=0)


class Begin(NamedTuple):
    """How a waiting step begins: with its runs, or it ends without any."""

    step_id: int
    new: StepState
    reason: StepReason | None = None
    points: Points = []


def begin_steps(db: Session, experiment_id: int, wanted: Sequence[Begin]) -> set[int]:
    """Give waiting steps of an experiment their runs; return the ids of those that still waited.

    The changes of the steps and their runs are one transaction, so a step gets its runs once. None begins if the
    experiment is deleted. Raise TooManyRunsError.
    """
    experiment = added_points.lock(db, experiment_id)
    if experiment is None:
        return set()
    lock_steps(db, [one.step_id for one in wanted])
    moved = move_steps(db, [StepChange(one.step_id, StepState.WAITING, one.new, one.reason) for one in wanted])
    new = [one for one in wanted if one.step_id in moved and one.points]
    if not new:
        return moved
    first, present = _numbers(db, experiment_id)
    count = sum(len(one.points) for one in new)
    if present + count > MAX_POINTS:
        total = f"{present:,} + {count:,} = {present + count:,}"
        raise TooManyRunsError(f"the experiment would have {total} runs, more than the limit of {MAX_POINTS:,}")
    query = select(Step.id, Step.force).where(Step.id.in_([one.step_id for one in new]))
    force = {row.id: row.force for row in db.execute(query)}
    points = [StepPoints(one.step_id, one.points, force=force[one.step_id]) for one in new]
    insert_runs_of_steps(db, experiment, points, first=first)
    return moved


def _numbers(db: Session, experiment_id: int) -> tuple[int, int]:
    """Return the next number of a run, and how many runs the experiment has."""
    last, present = db.execute(
        select(func.max(Run.number), func.count()).where(Run.experiment_id == experiment_id)
    ).one()
    return (0 if last is None else last + 1), present


def _store_codes(db: Session, steps: dict[int, StepSpec]) -> None:
    """Protect the code snapshots that the steps will need."""
    rows = [{"step_id": step_id, "code": code} for step_id, step in steps.items() for code in codes_of(step)]
    if rows:
        db.execute(insert(StepCode), rows)


def codes_of(step: StepSpec) -> Sequence[str]:
    """Return the hashes of the code snapshots that the runs of a step name."""
    found = [step.base.get("code"), *step.axes.get("code", [])]
    found += [value for variant in step.variants if (value := field_of(variant, "code")) is not ABSENT]
    return sorted({code for code in found if isinstance(code, str)})


def specs_of(db: Session, experiment_id: int) -> list[StepSpec]:
    """Return the specs of the steps of a stored experiment, with the objectives by which their best runs are chosen."""
    stored = db.scalars(select(Experiment.spec).where(Experiment.id == experiment_id)).one()
    of_all = stored.get("objective") and Objective.model_validate(stored["objective"])
    return with_objective([StepSpec.model_validate(step) for step in stored["steps"]], of_all)
