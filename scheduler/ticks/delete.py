"""The delete tick: remove the files and then the rows of deleted runs, a little at a time.

Nothing shows a deleted run. While the deletion can be undone, the run loses nothing. Then the tick claims it, removes
its files, and its rows last, so a worker that is killed leaves the rest for a later tick, on any worker.
"""

import logging
import time
from collections.abc import Iterator
from functools import partial

from contract.folder.array_folder import ArrayFolder
from contract.folder.files.whole_folder import remove_folder
from contract.folder.service_records import remove_experiment
from scheduler.context import Context
from store import service
from store.lifecycle import deletion
from store.lifecycle.deletion import DeletedRun
from store.session import snapshot, transaction

BUDGET_S = 3.0  # of a tick; the next one goes on
BATCH = 100
MAX_ROWS = 100  # of points, in a transaction: other writers wait for its end
log = logging.getLogger(__name__)


def delete(context: Context) -> None:
    """Remove what the API has marked as deleted and no job can write to any more."""
    until = time.monotonic() + BUDGET_S
    with transaction(context.engine) as db:  # before any file is removed: what is claimed here is never restored
        deletion.begin_removals(db)
    for run in _removable(context):
        if time.monotonic() >= until:
            return
        key = ("run", run.id)
        if not context.memory.retries.is_due(key):
            continue
        try:
            _remove_files(context, run)
        except OSError as error:
            wait_s = context.memory.retries.note_failure(key)
            log.warning("the files of deleted run %d cannot be removed, next try in %.0f s: %s", run.id, wait_s, error)
        else:
            context.memory.retries.forget(key)
            _remove_rows(context, run, until)
    _remove_experiments(context)


def _remove_experiments(context: Context) -> None:
    """Remove deleted experiments without runs: their records beside the run folders, then their rows.

    A record that stays has its row, so a later tick finds it. A record without a row is one that a restored database
    does not know, and `bigbatch orphans --adopt` may need it.
    """
    with snapshot(context.engine) as db:
        removable, identity = deletion.removable_experiments(db, BATCH), service.identity(db)
    removed = []
    for experiment_id in removable:
        key = ("record", experiment_id)
        if not context.memory.retries.is_due(key):
            continue
        try:
            remove_experiment(context.runs_folder, identity, experiment_id)
        except OSError as error:
            wait_s = context.memory.retries.note_failure(key)
            what = f"the record of deleted experiment {experiment_id}"
            log.warning("%s cannot be removed, next try in %.0f s: %s", what, wait_s, error)
        else:
            context.memory.retries.forget(key)
            removed.append(experiment_id)
    if removed:
        with transaction(context.engine) as db:
            deletion.remove_experiments(db, removed)


def _removable(context: Context) -> Iterator[DeletedRun]:
    """Yield deleted runs, oldest first: those whose files cannot be removed do not keep others from their turn."""
    last: DeletedRun | None = None
    while True:
        with snapshot(context.engine) as db:
            marked = deletion.removable(db, BATCH, after=last)
        yield from marked
        if len(marked) < BATCH:
            return
        last = marked[-1]


def _remove_files(context: Context, run: DeletedRun) -> None:
    progress = partial(context.memory.note_progress, "delete")
    remove_folder(context.folder_of(run).path, progress)
    with snapshot(context.engine) as db:
        arrays = deletion.unused_arrays(db, run.id)
    for name in arrays:
        remove_folder(ArrayFolder.of(context.runs_folder, name).path, progress)


def _remove_rows(context: Context, run: DeletedRun, until: float) -> None:
    is_gone = False
    while not is_gone and time.monotonic() < until:
        with transaction(context.engine) as db:
            is_gone = deletion.remove_rows(db, run.id, MAX_ROWS)
        context.memory.note_progress("delete")
