"""How far workflows are: the steps of those that go on, with counts of their runs. No run has a row here."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import State
from contract.lifecycle.step import OPEN_STEPS, StepReason, StepState
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.steps import Step


class StepProgress(NamedTuple):
    """A step, and how many of its runs are in each state."""

    id: int
    experiment_id: int
    position: int
    name: str
    needs: list[str]
    on_failure: str
    state: StepState
    reason: StepReason | None
    expanded_at: datetime | None
    created_at: datetime
    moved_at: datetime
    ended_at: datetime | None
    runs: Mapping[State, int] = {}


_COLUMNS = [getattr(Step, name) for name in StepProgress._fields if name != "runs"]


def open_workflows(db: Session) -> dict[int, list[StepProgress]]:
    """Return the steps of each experiment with a step that waits or runs; the runs of running steps are counted."""
    is_open = Step.state.in_(OPEN_STEPS)
    going = select(Step.experiment_id).join(Experiment, Experiment.id == Step.experiment_id)
    going = going.where(is_open, Experiment.deleted_at.is_(None)).distinct()
    query = select(*_COLUMNS).where(Step.experiment_id.in_(going)).order_by(Step.experiment_id, Step.position)
    steps = [StepProgress(*row) for row in db.execute(query)]
    counts = run_counts(db, [step.id for step in steps if step.state is StepState.RUNNING])
    found: dict[int, list[StepProgress]] = defaultdict(list)
    for step in steps:
        found[step.experiment_id].append(step._replace(runs=counts.get(step.id, {})))
    return found


def of_experiment(db: Session, experiment_id: int) -> list[StepProgress]:
    """Return the steps of an experiment in the order of its spec, with the counts of their runs."""
    query = select(*_COLUMNS).where(Step.experiment_id == experiment_id).order_by(Step.position)
    steps = [StepProgress(*row) for row in db.execute(query)]
    counts = run_counts(db, [step.id for step in steps])
    return [step._replace(runs=counts.get(step.id, {})) for step in steps]


def count_open(db: Session, experiment_ids: Collection[int]) -> dict[int, int]:
    """Return the number of steps that wait or run of each experiment that has any."""
    mine = (Step.experiment_id.in_(experiment_ids), Step.state.in_(OPEN_STEPS))
    rows = db.execute(select(Step.experiment_id, func.count()).where(*mine).group_by(Step.experiment_id))
    return {row[0]: row[1] for row in rows}


def run_counts(db: Session, step_ids: Collection[int]) -> dict[int, dict[State, int]]:
    """Return the number of runs in each state, by step; the query reads an index only."""
    found: dict[int, dict[State, int]] = defaultdict(dict)
    if not step_ids:
        return found
    mine = (Run.step_id.in_(step_ids), Run.deleted_at.is_(None))
    query = select(Run.step_id, Run.state, func.count()).where(*mine).group_by(Run.step_id, Run.state)
    for step_id, state, count in db.execute(query):
        assert step_id is not None
        found[step_id][State(state)] = count
    return found
