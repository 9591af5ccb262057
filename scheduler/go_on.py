"""What becomes of a run that paused, once its job has left: the same folder is submitted again."""

from sqlalchemy.orm import Session

from contract.run import State
from store import runs
from store.tables import Run

MAX_PAUSES = 1000  # a run that a signal ends over and over must come to an end of its own


def go_on(db: Session, run: Run) -> None:
    """Queue a paused run for its next attempt, unless it was asked to stop or has paused too often."""
    if run.stop_wanted_at:
        runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    elif (pauses := runs.times(db, run, State.PAUSED, State.QUEUED)) >= MAX_PAUSES:
        runs.move(db, run, State.FAILED, reason=f"{run.reason}; it has gone on {pauses} times and may not again")
    else:
        runs.move(db, run, State.QUEUED, reason=f"{run.reason}; it goes on from its checkpoint")
