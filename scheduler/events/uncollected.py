"""Runs whose reports cannot be read or stored: after some failures in a row such a run ends, and its job with it.

The counts are in the worker's memory: a worker that restarts counts again, which delays the end by seconds. A run ends
only if its own transaction fails while the transaction that ends the run succeeds, so a database that is away ends no
run; neither does a file server that is away, unless the run was asked to stop. But a folder that a run itself has made
unreadable (obstacle.py) ends it, minutes after its job has ended.
"""

import logging

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from contract.folder.bounds import printable, shorten
from contract.folder.files.disk_errors import is_transient
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import CollectionFailed, StopRequested, StopSource
from contract.lifecycle.state import LIVE, State
from scheduler.context import Context, IngestFailures
from scheduler.events.obstacle import find_obstacle
from store import runs, transitions
from store.runs import LiveRun
from store.session import transaction
from store.tables.runs import Run
from store.transitions import JobExit, Transition

FAILURES = 20  # in a row, one for each ingest tick
FAILURES_OF_DISK = 120  # of a run that was asked to stop, or whose job has ended, while its folder cannot be read
OF_DATABASE = (OperationalError, InterfaceError, PoolTimeoutError)  # the database is away, or a lock was not free
ERROR_CHARS = 300
log = logging.getLogger(__name__)


def count_failure(context: Context, run: LiveRun, error: Exception, *, has_ended: bool = False) -> None:
    """Count a failure to read or to store what a run reports; end the run after too many in a row.

    `has_ended`: the run's job is gone.
    """
    if not isinstance(error, OSError):
        log.error("run %d could not be ingested", run.id, exc_info=error)
    if isinstance(error, OF_DATABASE):
        return
    before = context.memory.ingest_failures.get(run.id, IngestFailures())
    failures = IngestFailures(before.in_row + 1, before.since_end + 1 if has_ended else 0)
    context.memory.ingest_failures[run.id] = failures
    obstacle = find_obstacle(context.folder_of(run)) if isinstance(error, OSError) else None
    words = obstacle or _describe(error)
    if isinstance(error, OSError):  # without a traceback; the log says once what repeats
        log.warning("run %d could not be read: %s", run.id, words)
    is_of_disk = isinstance(error, OSError) and is_transient(error)
    if run.state not in LIVE or failures.in_row < (FAILURES_OF_DISK if is_of_disk else FAILURES):
        return
    is_fact = obstacle is not None and failures.since_end >= FAILURES_OF_DISK
    try:
        with transaction(context.engine) as db:
            _end_run(db, run, words, only_if_stopping=is_of_disk and not is_fact)
    except Exception:  # the next tick tries again
        log.exception("run %d could not be ended", run.id)


def forget_failures(context: Context, run: LiveRun) -> None:
    """Begin the count again: the run's report was read and stored."""
    context.memory.ingest_failures.pop(run.id, None)


def _end_run(db: Session, read: LiveRun, words: str, *, only_if_stopping: bool) -> None:
    run: Run | None = runs.lock_as_read(db, [read]).get(read.id)
    if run is None or run.state not in LIVE:
        return
    job = next(job for job in run.jobs if job.id == run.current_job_id)
    reason = CollectionFailed(error=words)
    if run.stop_requested_at and run.stop_source is not StopSource.SHUTDOWN:
        stopped = StopRequested(source=run.stop_source or StopSource.USER)
        outcome = Transition(State.CANCELLED, stopped, JobExit(ExitCause.CANCELLED, reason))
    elif only_if_stopping:
        return
    else:
        outcome = Transition(State.FAILED, reason, JobExit(ExitCause.FAILURE, reason))
    transitions.apply(db, run, job, outcome)


def _describe(error: Exception) -> str:
    """Return the error in one line; of an error of the database, the database's own words without the statement."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return printable(shorten(" ".join(f"{type(cause).__name__}: {cause}".split()), ERROR_CHARS))
