"""Packed jobs: several runs share one job. A run ends when its own part ends, and stops by a request in its folder.

The job ends when the last part has ended. A failure of the whole job is a failure of all runs that are live then, and
the process that carries them writes no exit status for them: the cluster's status counts, as for a run alone in a job.
"""

import logging
from collections.abc import Sequence
from typing import Protocol

from contract.diagnosis.log_patterns import find_failure_line
from contract.folder.run_folder import ABANDONED, UNREADABLE, RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import StopRequested, StopSource
from contract.lifecycle.state import LIVE, State
from scheduler.clusters.cluster import Gone
from scheduler.context import Context
from store import jobs, submissions, transitions
from store.session import snapshot, transaction
from store.tables.runs import Job, Run

LOG_BYTES = 4096
log = logging.getLogger(__name__)


class PackedJob(Protocol):
    @property
    def attempt(self) -> int: ...
    @property
    def pack_member(self) -> int | None: ...


def end_of_part(folder: RunFolder, job: PackedJob) -> Gone | None:
    """Return how the run's own part of a packed job ended; None while it lives, or if the job is not packed."""
    if job.pack_member is None:
        return None
    try:
        status = folder.read_part_exit(job.attempt)
    except (OSError, ValueError):  # a folder that is unreachable for a moment must not stop the poll of other jobs
        return None
    if status is None:
        return None
    end = JobEnd(kind=EndKind.PART_EXITED, exit_code=status)
    if status == 0:
        return Gone(end, ExitCause.DONE)
    line = find_failure_line(folder.read_attempt_log(job.attempt, LOG_BYTES))
    is_out_of_memory = line is not None and line.kind is FailureKind.OUT_OF_MEMORY
    return Gone(end, ExitCause.OUT_OF_MEMORY if is_out_of_memory else ExitCause.FAILURE)


def request_part_ends(context: Context, runs: Sequence[Run], *, force: bool) -> list[Run]:
    """Ask the parts of jobs that go on for other runs to end; return the other runs, whose jobs may be ended."""
    with snapshot(context.engine) as db:
        shared = submissions.shared_jobs(db, runs)
    parts = [(run, job) for run in runs if (job := run.current_job) and _is_shared(job, shared)]
    asked: list[tuple[Run, Job, bool]] = []
    for run, job in parts:
        try:
            asked.append((run, job, _request_end(context, run, job, force=force)))
        except OSError as error:  # a later tick tries again
            log.warning("run %d could not be asked to end: %s", run.id, error)
    if asked:
        with transaction(context.engine) as db:
            for run, _, has_begun in asked:
                if not has_begun:
                    reason = StopRequested(source=run.stop_source or StopSource.USER)
                    transitions.apply_if_unchanged(db, run, State.CANCELLED, reason)
            jobs.write_stop_requests(db, [job.id for _, job, _ in asked], force=force)
    ids = {run.id for run, _ in parts}
    return [run for run in runs if run.id not in ids]


def _is_shared(job: Job, shared: set[tuple[str, int | None]]) -> bool:
    return job.pack_member is not None and (job.name, job.array_task) in shared


def _request_end(context: Context, run: Run, job: Job, *, force: bool) -> bool:
    """Write the request; return False if the part has not begun and, its claim being taken, never will."""
    folder = context.folder_of(run)
    # to claim waits ten seconds for a claim that cannot be read, and that claim belongs to some job
    may_abandon = run.state in LIVE and run.stop_requested_at and folder.read_claim(job.attempt) != UNREADABLE
    if may_abandon and folder.claim(job.attempt, ABANDONED) == ABANDONED:
        return False
    folder.request_end(job.attempt, force=force)
    return True
