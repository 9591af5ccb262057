"""The recover tick: runs whose submission was not completed, because its worker died or its cluster did not answer."""

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import islice

from sqlalchemy.orm import Session

from contract.folder.run_folder import ABANDONED, UNREADABLE
from contract.lifecycle.reason import (
    FoundByName,
    StopRequested,
    StopSource,
    SubmissionLost,
    SubmissionRefused,
    SubmissionUnconfirmed,
)
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Cluster, NoAnswerError, RateLimitedError
from scheduler.clusters.slurm.commands import SBATCH_TIMEOUT_S
from scheduler.clusters.slurm.job_ids import array_id
from scheduler.context import Context
from scheduler.submit.backoff import next_try
from scheduler.submit.folders import Pair
from store import jobs, runs, submissions, transitions
from store.locks import lock_submission
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run

# longer than any submission may take, so that no worker is overtaken while it submits
LEASE = timedelta(seconds=SBATCH_TIMEOUT_S + 3)
BATCH = 200  # names on a command line
GATHER_S = 7.0  # a search waits so long for others: it costs two calls, for however many names
PAUSE_S = 10.0  # after a cluster did not answer: its calls are needed for other purposes too
MAX_ERRORS = 3  # with a message that the service does not know: what refuses a job for ever must not be asked for ever
LONGEST_PAUSE_S = 600.0  # for a submission that cannot be settled
NO_JOBS = (ABANDONED, UNREADABLE)
log = logging.getLogger(__name__)


def recover(context: Context, lease: timedelta = LEASE) -> None:
    """Adopt the job of every run whose lease has expired in submission, or queue the run if there surely is no job."""
    with snapshot(context.engine) as db:
        submitting = runs.in_state(db, State.SUBMITTING)
    pairs = [(run, job) for run in submitting if (job := run.current_job)]
    ages_s = _lease_ages(context, pairs)
    expired: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for run, job in pairs:
        is_due = ages_s[run.id] >= lease.total_seconds()
        if is_due and time.monotonic() >= context.memory.unsettled.get(job.name, (0.0, 0.0))[0]:
            expired[run.cluster][job.name].append((run, job))
    for kind, cluster in context.clusters.items():  # only a worker that has the cluster can ask it
        found = expired.get(kind)
        if not found:
            context.memory.search_begun.pop(kind, None)
            continue
        theirs_s = [ages_s[run.id] for run in submitting if run.cluster == kind and run.id in ages_s]
        if cluster.is_local or not _should_wait(context, kind, theirs_s, lease.total_seconds()):
            is_answered = _recover_on(context, kind, cluster, dict(islice(found.items(), BATCH)))
            if is_answered and len(found) <= BATCH:  # the names beyond a batch do not wait again
                context.memory.search_begun.pop(kind, None)


def _recover_on(context: Context, kind: str, cluster: Cluster, expired: Mapping[str, Sequence[Pair]]) -> bool:
    """Search for the submissions and settle those that are known; return whether the cluster answered."""
    memory = context.memory
    if time.monotonic() < memory.search_paused_until.get(kind, 0.0):
        return False
    try:
        found = cluster.find(list(expired))
    except RateLimitedError as error:
        log.info("whether %s were submitted is not known yet: %s", ", ".join(expired), error)
        return False
    except NoAnswerError as error:
        log.warning("whether %s were submitted is not known yet: %s", ", ".join(expired), error)
        memory.search_paused_until[kind] = time.monotonic() + PAUSE_S
        return False
    for name, job_id in found.items():
        is_settled = False
        try:
            is_settled = _settle(context, name, expired[name], job_id)
        except Exception:  # one faulty submission must not delay the others
            log.exception("%s could not be recovered", name)
        if is_settled or cluster.is_local:
            memory.unsettled.pop(name, None)
        else:  # asking for it every time would use up the calls
            pause_s = min(2 * memory.unsettled.get(name, (0.0, PAUSE_S / 2))[1], LONGEST_PAUSE_S)
            memory.unsettled[name] = (time.monotonic() + pause_s, pause_s)
    return True


def _should_wait(context: Context, kind: str, ages_s: Sequence[float], lease_s: float) -> bool:
    """Return whether a search should wait: other leases expire soon, and the search has not waited for long.

    A worker that is killed again and again leaves a submission every other second. Two searches find all of them when a
    worker begins: it waits for half of the lease, and then for the youngest.
    """
    present = time.monotonic()
    began = context.memory.search_begun.setdefault(kind, present)
    return present - began < GATHER_S and any(lease_s - GATHER_S < age_s < lease_s for age_s in ages_s)


def _lease_ages(context: Context, submitting: Sequence[Pair]) -> dict[int, float]:
    """Return for how long this worker has seen each lease without a renewal: another worker's clock may be wrong.

    At the worker's first tick the age by the database's clock counts, so these leases are not watched from zero.
    """
    memory, present, at = context.memory, time.monotonic(), now()
    is_first, memory.has_recovered = not memory.has_recovered, True
    seen = {}
    for _, job in submitting:
        age_s = max(0.0, (at - job.lease_renewed_at).total_seconds()) if is_first else 0.0
        lease = (job.id, job.lease_renewed_at)
        seen[lease] = memory.leases_seen.get(lease, present - age_s)
    memory.leases_seen = seen
    return {run.id: present - seen[job.id, job.lease_renewed_at] for run, job in submitting}


def _settle(context: Context, name: str, expired: Sequence[Pair], job_id: str | None) -> bool:
    """Store what became of every run; return whether that is known of all."""
    holders = {} if job_id else _take_claims(context, expired)
    with transaction(context.engine) as db:
        lock_submission(db, name, Run.state == State.SUBMITTING)
        for run, _ in expired:
            if holders.get(run.id) == ABANDONED:
                _give_up(db, run)
        # a claim that is not readable yet belongs to an unknown job: the run stays as it is
        if found := job_id or next((holder for holder in holders.values() if holder not in NO_JOBS), None):
            is_task = not job_id and expired[0][1].array_task is not None
            external_id = array_id(found) if is_task else found
            at = max(job.lease_renewed_at for _, job in expired)  # the job may have run since then
            transitions.apply_to_submission(db, name, State.PENDING, FoundByName(), job_id=external_id, at=at)
        elif UNREADABLE not in holders.values() and not context.clusters[expired[0][0].cluster].is_local:
            jobs.write_given_up(db, name)  # a slow controller may accept the job later
    return bool(found) or UNREADABLE not in holders.values()


def _take_claims(context: Context, expired: Sequence[Pair]) -> dict[int, str]:
    """Claim the attempts, so that a job that the cluster accepts later leaves at once; return the holder of each.

    A slow controller may accept a job long after its client gave up, and a job may have come and gone unseen.
    """
    holders = {}
    for run, job in expired:
        request = context.request_of(run, job)
        request.folder.prepare(request.spec, request.attempt, context.run_folders)
        # to claim waits ten seconds for a claim that cannot be read; the next search sees whether it can be read then
        is_unreadable = request.folder.read_claim(request.attempt) == UNREADABLE
        holders[run.id] = UNREADABLE if is_unreadable else request.folder.claim(request.attempt, ABANDONED)
    return holders


def _give_up(db: Session, run: Run) -> None:
    """End a run without a job if it was asked to stop, or if sbatch's error does not go away; else queue it again."""
    if run.stop_requested_at:
        reason = StopRequested(source=run.stop_source or StopSource.USER)
        transitions.apply_if_unchanged(db, run, State.CANCELLED, reason)
        return
    known = run.reason if isinstance(run.reason, SubmissionUnconfirmed) else None
    is_error = known is not None and known.is_error
    if known and is_error and submissions.count_unknown_errors(db, run.id) + 1 >= MAX_ERRORS:
        refused = SubmissionRefused(cluster=run.cluster, message=f"{known.message} ({MAX_ERRORS} times)")
        transitions.apply_if_unchanged(db, run, State.FAILED, refused)
        return
    lost = SubmissionLost(message=known.message if known else None, is_error=is_error)
    transitions.apply_if_unchanged(db, run, State.QUEUED, lost, not_before=next_try(db, run))
