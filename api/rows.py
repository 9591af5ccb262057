"""Rows by the ids of a request; deleted ones count as absent."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.errors import NotFound
from store import experiments, runs
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.steps import Step


def found_experiment(db: Session, experiment_id: int) -> Experiment:
    """Return the experiment; raise NotFound if there is none."""
    if (experiment := experiments.find(db, experiment_id)) is None:
        raise NotFound(f"there is no experiment {experiment_id}")
    return experiment


def see_experiment(db: Session, experiment_id: int) -> None:
    """Raise NotFound if the experiment does not exist."""
    if not experiments.is_present(db, experiment_id):
        raise NotFound(f"there is no experiment {experiment_id}")


def found_step(db: Session, experiment_id: int, name: str) -> int:
    """Return the id of a step of an experiment; raise NotFound if there is none."""
    step_id = db.scalar(select(Step.id).where(Step.experiment_id == experiment_id, Step.name == name))
    if step_id is None:
        raise NotFound(f"experiment {experiment_id} has no step '{name}'")
    return step_id


def found_run(db: Session, run_id: int) -> Run:
    """Return the run with its job; raise NotFound if there is none."""
    if (run := runs.find(db, run_id)) is None:
        raise NotFound(f"there is no run {run_id}")
    return run
