"""Ask the clusters about their jobs, each at a pace that it bears, and store what they say.

One worker looks for all. What runs have written is read by `collect` meanwhile, so a cluster that is slow, or was asked
often enough, makes no curve late. An answer that fails, is empty or leaves a job out says nothing: the run's job is
then unknown since that moment, and alive for all that anybody does.
"""

import logging
import math
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from contract.lifecycle.pending_reason import Waits
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, BusyError, Cluster, DoubtError, Gone, Unknown
from scheduler.context import Site, held
from scheduler.jobs import packed
from scheduler.jobs.liveness import Pulse, feel
from store import clusters
from store import job_status as looks
from store.job_status import Said
from store.session import snapshot, transaction
from store.tables import now

CALM_S, RESTLESS_S = 12.0, 6.0  # from one look to the next
SLOWEST_S = 15.0  # a cluster that is slow, or does not answer, is asked so often: all is known 30 s after it does
# when its calls were spent: one for a look comes free every 20 s (scheduler/clusters/rate_limit.py).
# Less than the tick's
# period, or every other tick would come a moment too early
BUSY_S = 1.0
RESTLESS_FOR = timedelta(seconds=60)  # after a run has moved or was asked to stop
SLOWNESS = 10.0  # a cluster that takes a second to answer is asked every ten at most
MEMORY = 0.5  # of the time that a cluster knows an ended job, at most, goes by between two looks
DOUBT = timedelta(seconds=30)  # how long nobody must know a job before it counts as gone
HOSTS_UNKNOWN = "its job has ended, and which of its hosts has failed is not known yet"
log = logging.getLogger(__name__)


def look(site: Site) -> None:
    """Ask every cluster that is not this machine, if it is time."""
    for kind, cluster in site.clusters.items():
        if not cluster.is_here:
            _look_at(site, kind, cluster)


def _look_at(site: Site, kind: str, cluster: Cluster) -> None:
    with snapshot(site.engine) as db:
        watched = looks.watched(db, kind)
    watched = _without_ended_parts(site, watched)
    if not watched:
        return
    pace_s = RESTLESS_S if any(map(_is_restless, watched)) else CALM_S
    with transaction(site.engine) as db:
        if not looks.turn(db, kind, now() + timedelta(seconds=pace_s)):
            return
    began = time.monotonic()
    try:
        answers = cluster.ask([held(row) for row in watched])
    except BusyError:
        _put_off(site, kind, BUSY_S)
        return
    took_s = time.monotonic() - began
    said = [new for row in watched if (new := _news(site, row, answers[held(row)]))]
    wait_s = min(took_s * SLOWNESS, SLOWEST_S, MEMORY * _remembers_s(cluster))
    if (failed := _host_failures(watched, said)) and not _see_hosts(site, kind, cluster):
        said = [_or_later(failed[new.id], new) if new.id in failed else new for new in said]
    with transaction(site.engine) as db:
        looks.note(db, said)
    if wait_s > pace_s:
        _put_off(site, kind, wait_s)


def _host_failures(watched: Sequence[Any], said: Sequence[Said]) -> dict[int, Any]:
    """The runs whose jobs have ended by a failed host, or by what may have been one."""
    rows = {row.id: row for row in watched}
    suspicious = {row.id for row in watched if row.own_cause == Cause.NODE_FAILURE}
    ended = (new for new in said if new.gone_cause)
    return {new.id: rows[new.id] for new in ended if new.gone_cause == Cause.NODE_FAILURE or new.id in suspicious}


def _see_hosts(site: Site, kind: str, cluster: Cluster) -> bool:
    """Store how the hosts are now, before it is asked which a run goes on without (outcome/excluded_hosts.py)."""
    try:
        report = cluster.report(urgent=True)
    except DoubtError as doubt:
        log.warning("which hosts of %s have failed is not known yet: %s", kind, doubt)
        return False
    with transaction(site.engine) as db:
        clusters.put(db, kind, report, None)
    return True


def _or_later(row: Any, new: Said) -> Said:
    """The end of a job on several hosts waits for word of these: for one look, and longer where they are its cause."""
    may_be_theirs = row.own_cause == Cause.NODE_FAILURE
    if len(new.hosts) < 2 and not may_be_theirs:
        return new
    if row.waits_for != HOSTS_UNKNOWN:
        return Said(row.id, row.attempt, HOSTS_UNKNOWN, Waits.OTHER, now())
    if may_be_theirs and row.unknown_since is not None and now() - row.unknown_since <= DOUBT:
        return Said(row.id, row.attempt, row.waits_for, row.waits_kind, row.unknown_since)
    return new


def _put_off(site: Site, kind: str, wait_s: float) -> None:
    with transaction(site.engine) as db:
        looks.put_off(db, kind, now() + timedelta(seconds=wait_s))


def _remembers_s(cluster: Cluster) -> float:
    """For how long it tells how a job has ended: a later look might find no word of it."""
    try:
        return cluster.limits().remembers_s or math.inf
    except DoubtError:
        return math.inf


def _without_ended_parts(site: Site, watched: Sequence[Any]) -> list[Any]:
    """Runs that share a job end one by one, and no cluster need be asked for that."""
    ended = {row.id: _said(row, end) for row in watched if (end := packed.end_of(site, row))}
    if ended:
        with transaction(site.engine) as db:
            looks.note(db, list(ended.values()))
    return [row for row in watched if row.id not in ended]


def _is_restless(row: Any) -> bool:
    moments: Sequence[datetime | None] = (row.moved_at, row.stop_asked_at)
    return row.unknown_since is not None or any(at and now() - at < RESTLESS_FOR for at in moments)


def _news(site: Site, row: Any, answer: Answer) -> Said | None:
    """What is to be stored of a job; None when that stands there already."""
    said = _said(row, _weigh(site, row, answer))
    before = Said(row.id, row.attempt, row.waits_for, row.waits_kind, row.unknown_since)
    return said if said != before else None


def _said(row: Any, answer: Answer) -> Said:
    match answer:
        case Alive(waits_for=waits_for, kind=kind):
            return Said(row.id, row.attempt, waits_for, kind)
        case Gone(reason=reason, cause=cause, hosts=hosts):
            return Said(row.id, row.attempt, gone_reason=reason, gone_cause=cause, gone_at=now(), hosts=hosts)
        case Unknown():
            return Said(row.id, row.attempt, row.waits_for, row.waits_kind, row.unknown_since or now())


def _weigh(site: Site, row: Any, answer: Answer) -> Answer:
    """A job that the cluster merely knows no more: alive if it gives signs of life, gone if it is silent for long.

    Of a run that shares its job the own end counts, which it may have come to while the cluster answered.
    """
    if end := packed.end_of(site, row):
        return end
    if not isinstance(answer, Gone) or answer.sure:
        return answer
    pulse = feel(site.folder_of(row), row.attempt)
    if pulse is Pulse.BEATS:
        return Alive()
    doubted = row.unknown_since is not None and now() - row.unknown_since > DOUBT
    return answer if doubted and pulse is Pulse.SILENT else Unknown(answer.reason)
