"""Submission of queued runs to their clusters, each exactly once however many workers submit.

The order of writes lets a worker die anywhere: first the runs are `submitting` with a job of a known name (the intent);
then their folders are written, and for an array which task carries which run; only then is the cluster called, and its
answer stored. Runs that stay `submitting` are found by that name (scheduler/ticks/recover.py).
"""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import suppress

from contract.folder.files.disk_errors import is_transient
from contract.lifecycle.reason import (
    FolderNotWritable,
    Reason,
    SubmissionDeferred,
    SubmissionRefused,
    SubmissionUnconfirmed,
)
from contract.lifecycle.state import State
from scheduler.clusters.cluster import (
    ArrayRequest,
    Cluster,
    JobHandle,
    JobRequest,
    NoAnswerError,
    QueueFullError,
    RateLimitedError,
    RefusedError,
    ScriptNotWrittenError,
    UnknownErrorMessage,
)
from scheduler.context import Context
from scheduler.orphans.records import record_experiments
from scheduler.submit.answer import queue_again, store_id, withdraw
from scheduler.submit.code_trees import make_code_trees
from scheduler.submit.folders import FULL_FOR, Lease, write_array_folder, write_run_folders
from scheduler.submit.select import SMALL, Selection, select_next
from scheduler.submit.tools import install_tools
from store import jobs, submissions, transitions
from store.session import snapshot, transaction

BUDGET_S = 20.0  # for a caller that gives no time
LONG_S = 0.2  # what taking many runs, or submitting them, may take of a tick
Steps = Iterator[float]  # of a submission: each step yields how long the next one takes, and may be the last for now
log = logging.getLogger(__name__)


def submit_queued(context: Context, until: float | None = None) -> None:
    """Submit queued runs, oldest first, while there is room; begin nothing more after `until` (time.monotonic()).

    A submission of many runs is made in steps, and the next call goes on with a submission that is not done by then.
    Only this process knows of it: when the process dies, its runs are found as after any dead worker.
    """
    until = time.monotonic() + BUDGET_S if until is None else until
    for kind, cluster in context.clusters.items():
        try:
            _submit_to(context, kind, cluster, until)
        except NoAnswerError as error:  # the limits of the cluster are not known, or the rate limit is reached
            log.info("nothing is submitted to %s: %s", kind, error)


def finish_open(context: Context) -> None:
    """Finish the open submissions: no further call comes."""
    while context.memory.open_submissions:
        _, steps = context.memory.open_submissions.popitem()
        _advance(steps, math.inf)


def _submit_to(context: Context, kind: str, cluster: Cluster, until: float) -> None:
    tried: set[int] = set()  # a run that returns to the queue meanwhile is for the next tick
    large = context.memory.open_submissions.pop(kind, None)
    try:
        had_open = large is not None
        if large:  # before all else: once its folders are written it needs its call of the cluster
            large = _advance(large, 0.0)
        while True:
            is_late = (had_open or tried) and time.monotonic() + LONG_S >= until
            selection = select_next(context, kind, cluster, small=bool(is_late or large))
            if selection and not tried.intersection(run.id for run in selection.runs):
                tried.update(run.id for run in selection.runs)
                is_large = len(selection.runs) > SMALL  # then smaller ones may be submitted before it is done
                rest = _advance(_submission(context, cluster, selection), 0.0 if is_large else math.inf)
                large = rest or large
            elif not large or (large := _advance(large, until)):
                return
            if time.monotonic() >= until:
                return
    finally:
        if large:
            context.memory.open_submissions[kind] = large


def _advance(steps: Steps, until: float) -> Steps | None:
    """Take a step, and more steps that end by `until`; return the steps that remain."""
    for takes_s in steps:
        if time.monotonic() + takes_s >= until:
            return steps
    return None


def _submission(context: Context, cluster: Cluster, selection: Selection) -> Steps:
    with transaction(context.engine) as db:
        taken = submissions.take(db, selection.runs, selection.name, pack=selection.pack, parallel=selection.parallel)
    if not taken:
        return  # another worker was first, or a stop was requested
    yield 0.0
    lease = Lease(context, selection.name)
    pairs = [(run, job) for run in taken if (job := run.current_job)]
    pairs = yield from make_code_trees(context, lease, pairs)
    ready = yield from write_run_folders(context, lease, pairs)
    record_experiments(context, [run for run, _ in ready])
    if any(run.spec.get("kind") == "program" for run, _ in ready):
        try:
            install_tools(context.runs_folder, context.owners, context.memory.examined)
        except OSError as error:
            _put_back(context, selection.name, FolderNotWritable(folder="tools", error=str(error)), error)
            return
    if len(taken) > 1 and ready:
        array = context.array_request_of(ready, parallel=selection.parallel)
        try:
            yield from write_array_folder(context, lease, array, ready)
        except OSError as error:
            _put_back(context, selection.name, FolderNotWritable(folder="array", error=str(error)), error)
            return
        yield LONG_S
        _submit(context, cluster, array, lease)
    elif ready:
        _submit(context, cluster, context.request_of(*ready[0]), lease)


def _submit(context: Context, cluster: Cluster, job: JobRequest | ArrayRequest, lease: Lease) -> None:
    """Submit a job, outside any transaction, and store the answer."""
    if not lease.renew():
        return  # the submission was given up while its folders were written
    try:
        job_id = cluster.submit(job)
    except (RateLimitedError, QueueFullError) as error:
        withdraw(context, job, lease, error)
    except ScriptNotWrittenError as error:
        with transaction(context.engine) as db:
            queue_again(db, job.name, SubmissionDeferred(message=str(error)), FULL_FOR)
    except RefusedError as error:
        _fail(context, job.name, SubmissionRefused(cluster=job.spec.resources.kind, message=str(error)))
    except Exception as error:
        # the cluster may have the job: `recover` asks for it by name before the run is submitted again
        log.warning("%s: whether it was submitted is not known: %s", job.name, error)
        with transaction(context.engine) as db:
            is_error = isinstance(error, UnknownErrorMessage)
            submissions.write_doubt(db, job.name, SubmissionUnconfirmed(message=str(error), is_error=is_error))
    else:
        if not store_id(context, job, job_id):
            _cancel_unless_adopted(context, cluster, job, job_id)


def _cancel_unless_adopted(context: Context, cluster: Cluster, job: JobRequest | ArrayRequest, job_id: str) -> None:
    with snapshot(context.engine) as db:
        is_adopted = any(submissions.has_job(run, job_id) for run in submissions.named(db, job.name))
    if not is_adopted:
        log.warning("%s was given up during its submission: job %s is cancelled", job.name, job_id)
        if not cluster.is_local:
            with transaction(context.engine) as db:  # first, so that `reap` cancels the job if this worker cannot
                jobs.write_given_up(db, job.name)
        with suppress(NoAnswerError):
            cluster.cancel([JobHandle(job_id, job.name)])


def _put_back(context: Context, name: str, reason: Reason, error: OSError) -> None:
    if is_transient(error):
        with transaction(context.engine) as db:
            queue_again(db, name, reason, FULL_FOR)
    else:
        _fail(context, name, reason)


def _fail(context: Context, name: str, reason: Reason) -> None:
    with transaction(context.engine) as db:
        transitions.apply_to_submission(db, name, State.FAILED, reason)
