"""The mark tick: write beside the run folders how far the service's ids have come, and name at first what nobody owns.

The count of marks goes into the database first: one that was restored has a lower count than the file. It is brought up
to the folders before its mark replaces that file, where the migration before this worker did not do so.
"""

import logging

from contract.folder.service_records import write_mark
from contract.private_files import make_folder
from scheduler.context import Context
from scheduler.orphans.find import find_orphans, stored_queues
from store import service
from store.restored import Restored, bring_up
from store.session import snapshot, transaction

log = logging.getLogger(__name__)


def mark(context: Context) -> None:
    """Write a mark after a change."""
    _name_orphans(context)
    with snapshot(context.engine) as db:
        newest, identity = service.newest_change(db), service.identity(db)
    if newest == context.memory.marked_change:
        return
    for sentence in bring_up(context.engine, context.runs_folder, Restored()):
        log.warning("%s", sentence)
    with transaction(context.engine) as db:
        written = service.count_mark(db)
    make_folder(context.runs_folder, context.run_folders.mode)
    write_mark(context.runs_folder, identity, written)
    context.memory.marked_change = newest


def _name_orphans(context: Context) -> None:
    """Write into the log which jobs and run folders of this service belong to no run of its database.

    A report of before this worker may be as old as a database that was restored. So the first look takes the folders,
    and each cluster's jobs are looked at when it has answered.
    """
    memory = context.memory
    queues = stored_queues(context.engine, since=memory.began)
    if memory.searched_queues is not None and queues.keys() <= memory.searched_queues:
        return
    for orphan in find_orphans(context.engine, context.runs_folder, queues):
        if (described := orphan.describe()) not in memory.named_orphans:
            log.warning("%s; `bigbatch orphans` shows what can be done", described)
            memory.named_orphans.add(described)
    memory.searched_queues = {*queues}
