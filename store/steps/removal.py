"""The removal of the steps of deleted experiments."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.tables.steps import Step, StepCode, StepMove


def remove_steps(db: Session, experiment_ids: Sequence[int]) -> None:
    """Remove the steps of experiments whose runs are removed."""
    mine = select(Step.id).where(Step.experiment_id.in_(experiment_ids))
    for table in (StepMove, StepCode):
        db.execute(delete(table).where(table.step_id.in_(mine)))
    db.execute(delete(Step).where(Step.experiment_id.in_(experiment_ids)))
