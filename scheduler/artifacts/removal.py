"""The removal of outputs that the `keep` of their runs does not preserve.

The rows are marked first: from then on no run takes the outputs. Then the files go, outside any transaction, and
that is stored: a worker that is killed between leaves marked rows, whose files the next tick removes.
"""

import logging
import time
from itertools import groupby

from contract.folder.files.whole_folder import remove_below
from contract.folder.run_folder import RunFolder
from scheduler.context import Context
from store.artifacts import retention
from store.artifacts.artifacts import mark_files_removed
from store.artifacts.retention import OutputPath
from store.session import snapshot, transaction
from store.tables.base import now

RUNS = 100  # whose experiments are looked at together
log = logging.getLogger(__name__)


def remove_outputs(context: Context, until: float) -> None:
    """Remove outputs, experiment by experiment; go on after `until` (time.monotonic()) with the next call."""
    while time.monotonic() < until:
        with snapshot(context.engine) as db:
            found = retention.next_runs(db, context.memory.outputs_checked_to, RUNS)
        if not found:
            context.memory.outputs_checked_to = 0  # the next call begins with the first run again
            return
        for experiment_id in sorted(set(found.values())):
            _remove_of(context, experiment_id)
        context.memory.outputs_checked_to = max(found)


def _remove_of(context: Context, experiment_id: int) -> None:
    with snapshot(context.engine) as db:
        due = retention.due_runs(db, experiment_id, now())
    for run_id in due:
        with transaction(context.engine) as db:
            retention.begin_removal(db, experiment_id, run_id)
    with snapshot(context.engine) as db:
        paths = retention.paths_to_remove(db, experiment_id)
    for run_id, outputs in groupby(paths, key=lambda output: output.run_id):
        key = ("outputs", run_id)
        if not context.memory.retries.is_due(key):
            continue
        try:
            for output in outputs:
                _remove_files(context, output)
        except OSError as error:
            wait_s = context.memory.retries.note_failure(key)
            log.warning("the outputs of run %d cannot be removed, next try in %.0f s: %s", run_id, wait_s, error)
            continue
        context.memory.retries.forget(key)
        with transaction(context.engine) as db:
            mark_files_removed(db, run_id)


def _remove_files(context: Context, output: OutputPath) -> None:
    folder = RunFolder.of(context.runs_folder, output.run_id, output.key)
    remove_below(folder.path, output.path, lambda: context.memory.note_progress("prune"))
    context.memory.note_progress("prune")
