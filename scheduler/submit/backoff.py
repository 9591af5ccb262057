"""Backoff after submissions that failed: the wait grows with each failure in a row, without a last attempt.

Full or unreachable clusters usually recover, and so do folders that cannot be written; if not, the run's page shows
why, and its user can stop the run.
"""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from store import submissions
from store.tables.base import now
from store.tables.runs import Run

STEP, LONGEST = timedelta(seconds=5), timedelta(minutes=10)


def next_try(db: Session, run: Run, least: timedelta = timedelta(0)) -> datetime:
    """Return when the run may be submitted again: after `least`, then 5, 15, 35 s longer and so on, at most 10 min."""
    more: timedelta = STEP * ((1 << min(submissions.count_returns(db, run.id), 10)) - 1)
    return now() + min(least + more, LONGEST)
