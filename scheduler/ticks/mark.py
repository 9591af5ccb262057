"""The mark tick: write beside the run folders how far the service's ids have come, and name at first what nobody owns.

The count of marks goes into the database first: one that was restored has a lower count than the file.
"""

import logging

from contract.folder.service_records import write_mark
from scheduler.context import Context
from scheduler.orphans.find import find_orphans, stored_queues
from store import service
from store.session import snapshot, transaction

log = logging.getLogger(__name__)


def mark(context: Context) -> None:
    """Write a mark after a change."""
    if not context.memory.has_named_orphans:
        context.memory.has_named_orphans = True
        _name_orphans(context)
    with snapshot(context.engine) as db:
        newest, identity = service.newest_change(db), service.identity(db)
    if newest == context.memory.marked_change:
        return
    with transaction(context.engine) as db:
        written = service.count_mark(db)
    context.runs_folder.mkdir(parents=True, exist_ok=True)
    write_mark(context.runs_folder, identity, written)
    context.memory.marked_change = newest


def _name_orphans(context: Context) -> None:
    """Write into the log which jobs and run folders of this service belong to no run of its database."""
    for orphan in find_orphans(context.engine, context.runs_folder, stored_queues(context.engine)):
        log.warning("%s; `bigbatch orphans` shows what can be done", orphan.describe())
