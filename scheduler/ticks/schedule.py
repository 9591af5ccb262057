"""The schedule tick: submit the experiments whose moments have come, or whose files have appeared."""

import logging
import os
import stat
from pathlib import Path

from orders import acceptance
from scheduler.context import Context
from scheduler.schedule.carry_out import Prepared, start_moments, start_once, start_waiting
from scheduler.schedule.decide import due_starts
from store import schedules
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.schedules import Schedule

log = logging.getLogger(__name__)


def schedule(context: Context) -> None:
    """Carry out what is due. A fault of one schedule does not hold up the others."""
    with snapshot(context.engine) as db:
        due, of_files, waiting = schedules.due(db), schedules.of_files(db), schedules.with_waiting(db)
    steps = [*((_start_moments, one) for one in due), *((_look_at_file, one) for one in of_files)]
    steps += [(_start_waiting, one) for one in waiting]
    faults = []
    for step, one in steps:
        try:
            step(context, one)
        except Exception as error:
            log.exception("schedule %d (%s) could not be carried out", one.id, one.name)
            faults.append(error)
        context.memory.note_progress("schedule")
    if faults:
        raise ExceptionGroup("some schedules could not be carried out", faults)


def _prepare(context: Context, one: Schedule) -> Prepared:
    """Check the experiment of a schedule as POST /experiments does; the caller holds no transaction."""
    return acceptance.check(context.engine, one.spec, context.folders)


def _start_moments(context: Context, one: Schedule) -> None:
    assert one.cron is not None
    assert one.next_at is not None
    due = due_starts(one.cron, one.time_zone, one.missed, one.next_at, now())
    prepared = _prepare(context, one)
    with transaction(context.engine) as db:
        start_moments(db, one, due, prepared)


def _look_at_file(context: Context, one: Schedule) -> None:
    """Start for a version of the file that two looks in a row have seen: a file that is being written grows."""
    assert one.path is not None
    try:
        version = file_version(one.path, tuple(context.trigger_folders))
    except (FileOutsideError, OSError) as error:
        log.warning("schedule %d (%s) cannot look at its file: %s", one.id, one.name, error)
        return
    before = context.memory.files_seen.get(one.id)
    context.memory.files_seen[one.id] = version
    if version is None or version != before:
        return
    with snapshot(context.engine) as db:
        if schedules.has_start(db, one.id, version):
            return
    prepared = _prepare(context, one)
    with transaction(context.engine) as db:
        locked = schedules.lock(db, one.id, one.version)
        if locked is not None and locked.paused_at is None:
            start_once(db, locked, version, prepared)


def _start_waiting(context: Context, one: Schedule) -> None:
    with snapshot(context.engine) as db:
        if schedules.is_going(db, one):
            return
    prepared = _prepare(context, one)
    with transaction(context.engine) as db:
        start_waiting(db, one, prepared)


class FileOutsideError(ValueError):
    """The file leads out of the folders that the service may look at."""


def file_version(path: str, roots: tuple[Path, ...]) -> str | None:
    """Return the version of a regular file; None if there is none. Raise FileOutsideError, or OSError."""
    folder = Path(os.path.realpath(Path(path).parent))
    if not any(folder.is_relative_to(os.path.realpath(root)) for root in roots):
        raise FileOutsideError(f"{path} is not below a folder of BIGBATCH_TRIGGER_FOLDERS")
    try:
        found = os.lstat(folder / Path(path).name)  # a link to another place is no file
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
