"""The poll tick: ask each cluster for the status of all its jobs, at a pace that the cluster can bear, and store it.

One worker polls for all. Files of runs are read by the ingest tick meanwhile, so a slow cluster delays no curve. An
answer that fails, is empty, or omits a job proves nothing: the job is unknown since that moment, and counts as alive.
"""

import logging
import math
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from contract.api.cluster_report import ClusterReport
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.pending_reason import PendingReason
from scheduler.clusters.cluster import Alive, Cluster, Gone, JobStatus, NoAnswerError, RateLimitedError, Unknown
from scheduler.clusters.rate_limit import POLL_APART_S
from scheduler.context import Context, handle_of
from scheduler.jobs.doubted_ends import blame_host, correct_end, may_be_refused
from scheduler.jobs.liveness import Liveness, read_liveness
from scheduler.jobs.packed import end_of_part
from store import clusters, job_status
from store.job_status import Observation, PolledJob
from store.session import snapshot, transaction
from store.tables.base import now

# from one poll to the next; a calm poll comes when the polls have a call of their own, and leaves the shared calls free
CALM_S, BUSY_S = POLL_APART_S + 1.0, 6.0
SLOWEST_S = 15.0  # at most, for a slow cluster or one without an answer: all is known 30 s after it answers again
# after the rate limit was reached: a poll's own slot comes free every 20 s (scheduler/clusters/rate_limit.py). Less
# than the tick's period, else every other tick would come a moment too early
RATE_LIMITED_S = 1.0
BUSY_FOR = timedelta(seconds=60)  # after a run has changed its state or was asked to stop
SLOWNESS = 10.0  # a cluster that takes a second to answer is polled every ten seconds at most
RETENTION_SHARE = 0.5  # of the time for which a cluster lists an ended job, at most, between two polls
LOST_AFTER = timedelta(seconds=30)  # a job that its cluster does not list for so long, and that is silent, is lost
# for so long the end of a job waits for the state of a suspected host: the rate limit has a report each minute
HOSTS_ASKED_FOR = timedelta(seconds=75)
log = logging.getLogger(__name__)


def poll(context: Context) -> None:
    """Poll every cluster but this machine, where it is due."""
    for kind, cluster in context.clusters.items():
        if not cluster.is_local:
            _poll_one(context, kind, cluster)


def _poll_one(context: Context, kind: str, cluster: Cluster) -> None:
    with snapshot(context.engine) as db:
        open_jobs = job_status.open_jobs(db, kind)
    open_jobs = _store_ended_parts(context, open_jobs)
    if not open_jobs:
        return
    pace_s = BUSY_S if any(map(_is_busy, open_jobs)) else CALM_S
    with transaction(context.engine) as db:
        if not job_status.start_poll(db, kind, now() + timedelta(seconds=pace_s)):
            return
    began = time.monotonic()
    try:
        answers = cluster.status([handle_of(job) for job in open_jobs])
    except RateLimitedError:
        _delay(context, kind, RATE_LIMITED_S)
        return
    took_s = time.monotonic() - began
    observations = _observe_all(context, kind, cluster, open_jobs, [answers[handle_of(job)] for job in open_jobs])
    with transaction(context.engine) as db:
        job_status.store_observations(db, observations)
    wait_s = min(took_s * SLOWNESS, SLOWEST_S, RETENTION_SHARE * _retention_s(cluster))
    if wait_s > pace_s:
        _delay(context, kind, wait_s)


def _observe_all(
    context: Context, kind: str, cluster: Cluster, open_jobs: Sequence[PolledJob], answers: Sequence[JobStatus]
) -> list[Observation]:
    """Return the observations that differ from the stored ones."""
    changed, refused = [], dict[int, PolledJob]()
    for job, answer in zip(open_jobs, answers, strict=True):
        status = _weigh(context, job, answer)
        new = _observation(job, status)
        if new != _stored(job):
            changed.append(new)
        if isinstance(status, Gone) and may_be_refused(context.folder_of(job.run), job, status):
            refused[job.id] = job
    suspicious = _host_failures(open_jobs, changed) | refused
    if not suspicious:
        return changed
    report = _refresh_report(context, kind, cluster)
    if report is None:
        return [_or_later(suspicious[new.job_id], new) if new.job_id in suspicious else new for new in changed]
    return [blame_host(new, report) if new.job_id in refused else new for new in changed]


def _host_failures(open_jobs: Sequence[PolledJob], observations: Sequence[Observation]) -> dict[int, PolledJob]:
    """Return the jobs that ended by a failed host, or by what the run reports as a possible one."""
    by_id = {job.id: job for job in open_jobs}
    ended = [new for new in observations if new.observed_end]
    return {
        new.job_id: by_id[new.job_id]
        for new in ended
        if ExitCause.NODE_FAILURE in (new.observed_cause, by_id[new.job_id].reported_cause)
    }


def _refresh_report(context: Context, kind: str, cluster: Cluster) -> ClusterReport | None:
    """Store and return the present state of the hosts: the next attempt excludes those that failed."""
    try:
        report = cluster.report(urgent=True)
    except NoAnswerError as error:
        log.warning("which hosts of %s have failed is not known yet: %s", kind, error)
        return None
    with transaction(context.engine) as db:
        clusters.store_report(db, kind, report, None)
    return report


def _or_later(job: PolledJob, new: Observation) -> Observation:
    """Hold back the end of a job on several hosts until their state is known: one poll, longer if they caused it."""
    may_be_caused = job.reported_cause is ExitCause.NODE_FAILURE or new.observed_cause is ExitCause.CANCELLED
    if len(new.hosts) < 2 and not may_be_caused:
        return new
    if job.pending_reason is not PendingReason.HOSTS_UNKNOWN:
        return Observation(job.id, PendingReason.HOSTS_UNKNOWN, None, now())
    if may_be_caused and job.unknown_since is not None and now() - job.unknown_since <= HOSTS_ASKED_FOR:
        return _stored(job)
    return new


def _delay(context: Context, kind: str, wait_s: float) -> None:
    with transaction(context.engine) as db:
        job_status.delay_poll(db, kind, now() + timedelta(seconds=wait_s))


def _retention_s(cluster: Cluster) -> float:
    """Return for how long the cluster lists ended jobs: a later poll might find no trace of them."""
    try:
        return cluster.limits().retention_s or math.inf
    except NoAnswerError:
        return math.inf


def _store_ended_parts(context: Context, open_jobs: Sequence[PolledJob]) -> list[PolledJob]:
    """Store the ends of parts of packed jobs, which need no call; return the other jobs."""
    ended = {
        job.id: _observation(job, end) for job in open_jobs if (end := end_of_part(context.folder_of(job.run), job))
    }
    if ended:
        with transaction(context.engine) as db:
            job_status.store_observations(db, list(ended.values()))
    return [job for job in open_jobs if job.id not in ended]


def _is_busy(job: PolledJob) -> bool:
    moments: Sequence[datetime | None] = (job.moved_at, job.stop_requested_at)
    return job.unknown_since is not None or any(at and now() - at < BUSY_FOR for at in moments)


def _stored(job: PolledJob) -> Observation:
    return Observation(job.id, job.pending_reason, job.pending_detail, job.unknown_since)


def _observation(job: PolledJob, status: JobStatus) -> Observation:
    match status:
        case Alive(pending=pending):
            return Observation(job.id, *pending) if pending else Observation(job.id)
        case Gone(end=end, cause=cause, hosts=hosts):
            return Observation(job.id, observed_end=end, observed_cause=cause, observed_at=now(), hosts=hosts)
        case Unknown():
            return _stored(job)._replace(unknown_since=job.unknown_since or now())


def _weigh(context: Context, job: PolledJob, status: JobStatus) -> JobStatus:
    """Doubt the end of a job that its cluster only does not list: alive with a heartbeat, gone if silent for long.

    For a run in a packed job the end of its own part counts, which may have come while the cluster answered.
    """
    folder = context.folder_of(job.run)
    if end := end_of_part(folder, job):
        return end
    if isinstance(status, Gone):
        status = correct_end(folder, job, status)
    if not isinstance(status, Gone) or status.is_certain:
        return status
    liveness = read_liveness(context.memory, folder, job.attempt)
    if liveness is Liveness.ALIVE:
        return Alive()
    has_been_unknown = job.unknown_since is not None and now() - job.unknown_since > LOST_AFTER
    return status if has_been_unknown and liveness is Liveness.SILENT else Unknown("its cluster does not list the job")
