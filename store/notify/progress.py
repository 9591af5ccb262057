"""How far an experiment is, as messages say it."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import ENDED, State
from contract.lifecycle.step import OPEN_STEPS
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.searches import Search
from store.tables.steps import Step


class Progress(NamedTuple):
    """An experiment, and the states of its runs."""

    id: int
    name: str
    owner: str
    project: str
    counts: Mapping[State, int]
    has_ended: bool
    ended_at: datetime | None  # the newest end of a run, a step or a search

    def end_key(self) -> str:
        """Return a text that is another one after each time that the experiment goes on and ends again."""
        return f"{self.id}-{self.ended_at.timestamp() if self.ended_at else 0:.6f}"


def read_progress(db: Session, experiment_id: int) -> Progress | None:
    """Return how far an experiment is; None if it is deleted."""
    columns = (Experiment.id, Experiment.name, Experiment.owner, Experiment.project)
    mine = (Experiment.id == experiment_id, Experiment.deleted_at.is_(None))
    row = db.execute(select(*columns).where(*mine)).one_or_none()
    if row is None:
        return None
    visible = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    counts = {
        State(state): count
        for state, count in db.execute(select(Run.state, func.count()).where(*visible).group_by(Run.state))
    }
    is_open = any(count for state, count in counts.items() if state not in ENDED)
    has_ended = not is_open and not _has_open_parts(db, experiment_id)
    return Progress(*row, counts, has_ended, _newest_end(db, experiment_id) if has_ended else None)


def _has_open_parts(db: Session, experiment_id: int) -> bool:
    step = select(Step.id).where(Step.experiment_id == experiment_id, Step.state.in_(OPEN_STEPS)).limit(1)
    search = select(Search.id).where(Search.experiment_id == experiment_id, Search.ended_at.is_(None)).limit(1)
    return db.scalar(step) is not None or db.scalar(search) is not None


def _newest_end(db: Session, experiment_id: int) -> datetime | None:
    ends = [db.scalar(select(func.max(table.ended_at)).where(table.experiment_id == experiment_id)) for table in ENDING]
    return max((end for end in ends if end is not None), default=None)


ENDING = (Run, Step, Search)
