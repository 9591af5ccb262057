"""The check of deleted runs whose files are still there: nothing else of the service shows them."""

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from store.lifecycle import deletion
from store.session import snapshot
from store.tables.base import now

SHOWN = 3
MOST = 1000  # that are counted
LATE = timedelta(hours=1)  # after the time for an undo: the removal of many runs takes a while


def check_deletions(settings: Settings, engine: Engine) -> Iterator[Check]:
    """Yield whether the files of deleted runs are removed; nothing if the database has no tables yet."""
    try:
        with snapshot(engine) as db:
            late = deletion.overdue(db, now() - timedelta(hours=settings.delete_hours) - LATE, MOST)
    except SQLAlchemyError:
        return
    if not late:
        yield passed_check("folder", "deleted runs", "none is left", "deleted runs free their space")
        return
    folders = [str(RunFolder.of(settings.runs_folder(), run.id, run.key).path) for run in late]
    count = f"{len(late)} or more" if len(late) == MOST else str(len(late))
    found = f"{count} cannot be removed, or wait for their jobs: {', '.join(folders[:SHOWN])}"
    found += ", ..." if len(late) > SHOWN else ""
    advice = "read why in the worker's log, and make these folders the service's own (chown -R), or remove them"
    means = "they use space; they are tried again, less and less often, and keep no other run from its removal"
    yield failed_check("folder", "deleted runs", Grade.WARNING, found=found, means=means, advice=advice)
