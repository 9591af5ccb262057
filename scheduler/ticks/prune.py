"""The prune tick: remove what the retention settings allow to be removed, a little at a time.

Each transaction is complete by itself: a worker that is killed leaves the rest for a later tick, on any worker.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.orm import Session

from contract.snapshot.blob_store import GRACE_S
from contract.snapshot.garbage import remove_garbage, remove_trees
from scheduler.artifacts.removal import remove_outputs
from scheduler.context import Context
from store import snapshots
from store.artifacts import file_hashes
from store.metrics.retention import remove_points, remove_waits
from store.notify import deliveries
from store.session import snapshot, transaction
from store.tables.base import now

BUDGET_S = 1.0  # of a tick, for points, for the history and for outputs: a tenth of the period each
GARBAGE_S = 3600.0  # between two removals of snapshots
HASHES_FOR = timedelta(days=90)  # of input files
MAX_ROWS = 100  # of points, in a transaction: other writers wait for its end


log = logging.getLogger(__name__)


def prune(context: Context) -> None:
    """Remove points and history entries of runs that ended longer ago than the settings say, outputs that the runs'
    `keep` does not preserve, and unused snapshots.
    """
    _prune(context, context.retention.points, partial(remove_points, limit=MAX_ROWS))
    _prune(context, context.retention.history, remove_waits)
    remove_outputs(context, time.monotonic() + BUDGET_S)
    if time.monotonic() - context.memory.garbage_removed_at > GARBAGE_S:
        context.memory.garbage_removed_at = time.monotonic()
        with transaction(context.engine) as db:
            file_hashes.remove_old(db, now() - HASHES_FOR)
            deliveries.remove_old(db)
        _remove_snapshots(context)


def _remove_snapshots(context: Context) -> None:
    """Remove the snapshots that no run names, then the files that no snapshot needs, outside any transaction."""
    has_more = True
    while has_more:
        with transaction(context.engine) as db:
            has_more = bool(snapshots.remove_unused(db, now() - timedelta(seconds=GRACE_S)))
    with snapshot(context.engine) as db:
        stored, needed = snapshots.stored(db), snapshots.of_open_runs(db)

    def progress() -> None:
        context.memory.note_progress("prune")

    for remove in (
        partial(remove_garbage, context.blob_store, stored.__contains__, progress),
        partial(remove_trees, context.runs_folder, needed, progress),
    ):
        try:
            remove()
        except OSError as error:
            log.warning("snapshots that no run needs cannot be removed for now: %s", error)


def _prune(context: Context, age: timedelta | None, remove: Callable[[Session, datetime], bool]) -> None:
    until, has_more = time.monotonic() + BUDGET_S, age is not None
    while age is not None and has_more:
        with transaction(context.engine) as db:
            has_more = remove(db, now() - age)
        context.memory.note_progress("prune")
        has_more = has_more and time.monotonic() < until
