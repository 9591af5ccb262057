"""The ingest tick: read what live runs report, and decide on runs whose jobs are gone.

Runs that report are read again within the tick: their points are stored after a third of a second, and a service at
rest does nothing more often than each second.

The status of the jobs is known first (scheduler/ticks/poll.py stores it), and the files are read after that: whatever a
job wrote before its end is in its file then. Points, cursors and transitions are stored in one transaction, so a crash
between two of them repeats harmlessly.
"""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import select

from contract.api.cluster_report import ClusterReport
from contract.folder.events import Points
from contract.lifecycle.state import LIVE, State
from contract.process_memory import give_memory_back
from scheduler.clusters.cluster import Alive, Gone, JobStatus, Unknown
from scheduler.context import Context, handle_of
from scheduler.events.apply import apply_reports
from scheduler.events.collector import garbage_collection_paused
from scheduler.events.read_report import Surroundings, read_report
from scheduler.events.report import RunReport
from scheduler.events.tail import MAX_BYTES
from scheduler.events.turns import in_turns, note_width
from scheduler.events.uncollected import count_failure, forget_failures
from scheduler.jobs.status import status_of_live
from scheduler.outcome.exit_cause import LINGER
from store import clusters, jobs, runs
from store.runs import LiveRun
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Job

MAX_ROUNDS = 10  # reads of one file in a tick: a job that writes without end must not hold up other runs
FIRST_BYTES = 1 << 16  # of each run's first read: no run's backlog delays the newest points of the others,
BUDGET_S = 3.0  # and the reads of runs with many series and of all backlogs end after so long
AGAIN_S = 0.33  # between two reads of the runs that report, within a tick
TICK_S, PERIOD_S = 0.9, 1.0  # a tick ends before the next one begins
SHARE = 3  # reads take at most a third of the time
# in one transaction: enough to be worth it, few enough for other writers that wait (5,000 series take half a second)
MAX_RUNS, MAX_SERIES_AT_ONCE = 100, 5_000
log = logging.getLogger(__name__)


class _Stored(NamedTuple):
    """A run whose report is stored."""

    run: LiveRun  # with its new cursors and state
    more: bool  # its files go on


def ingest_and_follow(context: Context) -> None:
    """Ingest, and read the runs that report again until the next tick."""
    began = time.monotonic()
    _follow(context, began)
    if time.monotonic() > began + PERIOD_S:  # the next tick came meanwhile and was left out
        ingest(context)


def _follow(context: Context, began: float) -> None:
    following, _ = in_turns(context, [run for run in ingest(context) if run.state is State.RUNNING])
    last, took_s = began, time.monotonic() - began
    while following:
        starts = last + max(AGAIN_S, SHARE * took_s)
        if starts + took_s > began + TICK_S:
            return
        time.sleep(max(0.0, starts - time.monotonic()))
        last = time.monotonic()
        with garbage_collection_paused():
            following = _read_again(context, following)
        took_s = time.monotonic() - last


def _read_again(context: Context, following: Sequence[LiveRun]) -> list[LiveRun]:
    """Store what these runs have reported meanwhile; whether their jobs are gone is the next tick's question."""
    status: dict[int, JobStatus] = {run.id: Alive() for run in following}
    current = {run.id: run for run in following}
    for batch in _batches(context, _read(context, following, status, Surroundings({}, None), max_bytes=FIRST_BYTES)):
        for run_id in [report.run.id for report in batch]:
            del current[run_id]  # another worker reads it, unless its report is stored
        current |= {one.run.id: one.run for one in _store(context, batch, status)}
    return [run for run in current.values() if run.state is State.RUNNING]


def ingest(context: Context) -> list[LiveRun]:
    """Bring every live run up to date, those of this machine first: their status takes no call. Return those with news.

    A fault of one cluster does not hold up the runs of another one; the faults are raised at the end.
    """
    with garbage_collection_paused():
        return _ingest(context)


def _ingest(context: Context) -> list[LiveRun]:
    with snapshot(context.engine) as db:
        live = runs.live(db, ended_after=now() - LINGER)
    by_cluster: dict[str, list[LiveRun]] = defaultdict(list)
    for run in live:
        by_cluster[run.cluster].append(run)
    faults, reported = [], list[LiveRun]()
    for kind in sorted(by_cluster, key=lambda kind: kind != "local"):
        try:
            reported += _ingest_from(context, kind, by_cluster[kind])
        except Exception as error:
            faults.append(error)
    ids, failures = {run.id for run in live}, context.memory.ingest_failures
    context.memory.ingest_failures = {run_id: count for run_id, count in failures.items() if run_id in ids}
    missing, wide = context.memory.missing_since, context.memory.wide_read_at
    context.memory.missing_since = {run_id: at for run_id, at in missing.items() if run_id in ids}
    context.memory.wide_read_at = {run_id: at for run_id, at in wide.items() if run_id in ids}
    if faults:
        raise ExceptionGroup("runs of some clusters could not be ingested", faults)
    return reported


def _ingest_from(context: Context, kind: str, live: Sequence[LiveRun]) -> list[LiveRun]:
    status = status_of_live(context, kind, live)
    surroundings = _read_surroundings(context, kind, live, status)
    reported: dict[int, LiveRun] = {}

    def read(runs: Sequence[LiveRun], max_bytes: int, until: float) -> list[LiveRun]:
        """Read and store; return the runs whose files go on."""
        reports = _read(context, runs, status, surroundings, max_bytes=max_bytes, until=until)
        stored = [one for batch in _batches(context, reports) for one in _store(context, batch, status)]
        reported.update({one.run.id: one.run for one in stored})
        return [one.run for one in stored if one.more]

    narrow, wide = in_turns(context, live)
    remaining = read(narrow, FIRST_BYTES, math.inf)
    until = time.monotonic() + BUDGET_S
    remaining += read(wide, FIRST_BYTES, until)
    rounds = 0
    while remaining and rounds < MAX_ROUNDS - 1:
        remaining, rounds = read(remaining, MAX_BYTES, until), rounds + 1
        if any(run.id in context.memory.wide_read_at for run in remaining):
            give_memory_back()  # each of its many series left objects, and more of them are read now
    if rounds:
        give_memory_back()  # of a backlog of many megabytes
    if _reports_reachability(context, kind):
        _store_reachability(context, live, status)
    return [run for run in reported.values() if isinstance(status[run.id], Alive)]


def _read_surroundings(
    context: Context, kind: str, live: Sequence[LiveRun], status: Mapping[int, JobStatus]
) -> Surroundings:
    """Read the hosts of jobs that are gone, and the report that says which hosts have failed.

    A local job has one host, so its report decides nothing and is not read.
    """
    ended = [run.job_id for run in live if run.state in LIVE and isinstance(status[run.id], Gone)]
    if not ended:
        return Surroundings({}, None)
    cluster = context.clusters.get(kind)
    with snapshot(context.engine) as db:
        hosts = dict(db.execute(select(Job.id, Job.hosts).where(Job.id.in_(ended))).all())
        row = None if cluster and cluster.is_local else db.get(Cluster, kind)
    return Surroundings(hosts, ClusterReport.model_validate(row.report) if row and row.report else None)


def _batches(context: Context, reports: Iterable[RunReport]) -> Iterator[list[RunReport]]:
    """Yield reports in batches that a transaction and the memory can hold; read them as they are needed."""
    batch: list[RunReport] = []
    size_bytes = series = 0
    for report in reports:
        batch.append(report)
        note_width(context, report, width := report.count_series())
        size_bytes, series = size_bytes + report.size_bytes, series + width
        if len(batch) == MAX_RUNS or size_bytes >= MAX_BYTES or series >= MAX_SERIES_AT_ONCE:
            yield batch
            batch, size_bytes, series = [], 0, 0
    if batch:
        yield batch


def _read(
    context: Context,
    live: Sequence[LiveRun],
    status: Mapping[int, JobStatus],
    surroundings: Surroundings,
    *,
    max_bytes: int,
    until: float = math.inf,
) -> Iterator[RunReport]:
    """Yield what each run has reported, where it has reported anything or its job is gone; end after `until`."""
    for run in live:
        if time.monotonic() > until:
            return
        try:
            report = read_report(context, run, status[run.id], surroundings, max_bytes)
        except Exception as error:  # an unreadable folder must not delay the points of other runs
            count_failure(context, run, error, has_ended=isinstance(status[run.id], Gone))
            continue
        if report:
            yield report
        else:
            forget_failures(context, run)


def _store(context: Context, batch: Sequence[RunReport], status: Mapping[int, JobStatus]) -> list[_Stored]:
    """Store what runs have reported; return the runs whose report is stored."""
    try:
        with transaction(context.engine) as db, db.no_autoflush:  # all rows are written together at the end
            states = apply_reports(db, batch)
    except Exception as error:  # each report by itself, so that one faulty report does not delay the others
        if len(batch) > 1:
            return [one for report in batch for one in _store(context, [report], status)]
        count_failure(context, batch[0].run, error)
        return []
    context.memory.note_progress("ingest")
    stored = [report for report in batch if report.run.id in states]
    _count_lag(context, stored)
    for report in stored:
        forget_failures(context, report.run)
    _cancel_failed(context, [report.run for report in stored if states[report.run.id] is State.FAILED], status)
    return [_Stored(_as_stored(report, states[report.run.id]), report.more) for report in stored]


def _as_stored(report: RunReport, state: State) -> LiveRun:
    return report.run._replace(cursor=report.tail.cursor, rank_cursors=report.ranks.cursors, state=state)


def _count_lag(context: Context, stored: Sequence[RunReport]) -> None:
    """Count how long the first new point of each report had waited."""
    counts = context.memory.tick_counts["ingest"]
    for report in stored:
        first = next((event for event in report.tail.events if isinstance(event, Points)), None)
        if first:
            counts.reports += 1
            counts.lag_s += max(0.0, time.time() - first.at)


def _cancel_failed(context: Context, failed: Sequence[LiveRun], status: Mapping[int, JobStatus]) -> None:
    """End the local jobs of runs that reported a failure, so that no rank waits for others; `reap` ends other jobs."""
    for run in failed:
        cluster = context.clusters.get(run.cluster)
        if cluster and cluster.is_local and run.external_id and isinstance(status[run.id], Alive):
            try:
                cluster.cancel([handle_of(run)])
            except Exception:  # `reap` tries again
                log.exception("the job of run %d could not be ended", run.id)


def _reports_reachability(context: Context, kind: str) -> bool:
    """Return whether this worker stores that the cluster does not answer: of a cluster of another worker, that one."""
    if cluster := context.clusters.get(kind):
        return cluster.is_local
    with snapshot(context.engine) as db:
        return all(row.kind != kind for row in clusters.reports(db))


def _store_reachability(context: Context, live: Sequence[LiveRun], status: Mapping[int, JobStatus]) -> None:
    unknown = [run.job_id for run in live if isinstance(status[run.id], Unknown) and not run.unknown_since]
    known = [run.job_id for run in live if not isinstance(status[run.id], Unknown) and run.unknown_since]
    if unknown or known:
        with transaction(context.engine) as db:
            jobs.write_reachability(db, unknown, known)
