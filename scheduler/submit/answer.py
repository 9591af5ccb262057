"""Storing a cluster's answer to a submission: its id, or that the cluster has no job of it."""

from datetime import timedelta
from functools import partial

from sqlalchemy.orm import Session

from contract.lifecycle.reason import Reason, SubmissionDeferred
from contract.lifecycle.state import State
from scheduler.clusters.cluster import (
    ArrayRequest,
    ArrayTooLargeError,
    JobRequest,
    QueueFullError,
    RateLimitedError,
    SubmitLimitError,
)
from scheduler.context import Context
from scheduler.submit.backoff import next_try
from scheduler.submit.folders import Lease
from scheduler.submit.learned_limit import leaves_within, record_acceptance, record_pause, record_refusal
from store import clusters, submissions, transitions
from store.lifecycle.new_runs import queue_of
from store.locks import lock_submission
from store.session import transaction
from store.submissions import LiveJobs
from store.tables.base import now
from store.tables.runs import Run

Job = JobRequest | ArrayRequest


def store_id(context: Context, job: Job, job_id: str) -> list[int]:
    """Store the id of an accepted submission; return the runs that were still submitting."""
    kind, queue = _place(job)
    with transaction(context.engine) as db:
        pending = transitions.apply_to_submission(db, job.name, State.PENDING, job_id=job_id)
        if clusters.submit_limit(db, kind, queue):
            change = partial(record_acceptance, live=_live(db, job), size=_size(job), at=now())
            clusters.write_acceptance(db, kind, queue, change)
    return pending


def withdraw(context: Context, job: Job, lease: Lease, error: QueueFullError | RateLimitedError) -> None:
    """Queue the runs of a submission that the cluster surely does not have, and store what its refusal shows.

    The submission counts as no attempt and leaves no move, unless the lease may have expired meanwhile.
    """
    reason = SubmissionDeferred(message=str(error))
    with transaction(context.engine) as db:
        lock_submission(db, job.name, Run.state == State.SUBMITTING)
        if lease.surely_holds():  # also after the wait for the lock
            transitions.withdraw_submission(db, job.name, reason)
        else:
            queue_again(db, job.name, reason, timedelta(0))
        _store_refusal(db, job, error)


def _store_refusal(db: Session, job: Job, error: QueueFullError | RateLimitedError) -> None:
    """Store what a refusal shows of the queue's limit; a size of arrays is the cluster's own limit."""
    (kind, queue), at, message = _place(job), now(), str(error)
    if isinstance(error, SubmitLimitError):
        change = partial(record_refusal, live=_live(db, job), size=_size(job), at=at, message=message)
        clusters.write_refusal(db, kind, queue, change)
    elif isinstance(error, QueueFullError) and not isinstance(error, ArrayTooLargeError):
        clusters.write_refusal(db, kind, queue, partial(record_pause, at=at, message=message))


def queue_again(db: Session, name: str, reason: Reason, first: timedelta) -> None:
    """Queue the runs of a submission for their next attempt; all wait as long as the first of them."""
    waiting = submissions.named(db, name)
    not_before = next_try(db, waiting[0], first) if waiting else None
    transitions.apply_to_submission(db, name, State.QUEUED, reason, not_before=not_before)


def _place(job: Job) -> tuple[str, str]:
    """Return the cluster and the queue."""
    return job.spec.resources.kind, queue_of(job.spec)


def _size(job: Job) -> int:
    return len(job.tasks) if isinstance(job, ArrayRequest) else 1


def _live(db: Session, job: Job) -> LiveJobs:
    """Return the jobs in the queue beside this one."""
    kind, queue = _place(job)
    leaves = leaves_within(clusters.submit_limits(db, kind).values())
    counts = submissions.count_live_jobs(db, kind, ended_after=now() - leaves, besides=job.name)
    return counts.get(queue, LiveJobs())
