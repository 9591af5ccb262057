"""The prune tick: remove what the retention settings allow to be removed, a little at a time.

Each transaction is complete by itself: a worker that is killed leaves the rest for a later tick, on any worker.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.orm import Session

from scheduler.context import Context
from store.metrics.retention import remove_points, remove_waits
from store.session import transaction
from store.tables import now

BUDGET_S = 1.0  # of a tick, for points and for the history: a tenth of the period each
MAX_POINTS = 10_000  # in a transaction: other writers wait for its end


def prune(context: Context) -> None:
    """Remove points and history entries of runs that ended longer ago than the settings say; without them, nothing."""
    _prune(context, context.retention.points, partial(remove_points, limit=MAX_POINTS))
    _prune(context, context.retention.history, remove_waits)


def _prune(context: Context, age: timedelta | None, remove: Callable[[Session, datetime], bool]) -> None:
    until, has_more = time.monotonic() + BUDGET_S, age is not None
    while age is not None and has_more:
        with transaction(context.engine) as db:
            has_more = remove(db, now() - age)
        context.memory.note_progress("prune")
        has_more = has_more and time.monotonic() < until
