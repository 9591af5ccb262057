"""Ask the clusters about their jobs, each at a pace that it bears, and store what they say.

One worker looks for all. What runs have written is read by `collect` meanwhile, so a cluster that is slow, or was asked
often enough, makes no curve late. An answer that fails, is empty or leaves a job out says nothing: the run's job is
then unknown since that moment, and alive for all that anybody does.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from contract.folder import RunFolder
from scheduler.clusters.cluster import Alive, Answer, BusyError, Cluster, Gone, Held, Unknown
from scheduler.site import Site
from store import looks
from store.looks import Said
from store.session import snapshot, transaction
from store.tables import now

CALM_S, RESTLESS_S, SLOWEST_S = 12.0, 6.0, 60.0  # from one look to the next
SCARCE_S, SCARCEST_S = 60.0, 30.0  # the looks that are left are spread: the next comes in 6 s with five, in 20 with one
RESTLESS_FOR = timedelta(seconds=60)  # after a run has moved or was asked to stop
SLOWNESS = 10.0  # a cluster that takes a second to answer is asked every ten at most
BEAT_S = 45.0  # a job that has given a sign of life so lately lives
DOUBT = timedelta(seconds=30)  # how long nobody must know a job before it counts as gone


def look(site: Site) -> None:
    """Ask every cluster that is not this machine, if it is time."""
    for kind, cluster in site.clusters.items():
        if not cluster.is_here:
            _look_at(site, kind, cluster)


def _look_at(site: Site, kind: str, cluster: Cluster) -> None:
    with snapshot(site.engine) as db:
        watched = looks.watched(db, kind)
    if not watched:
        return
    pace_s = RESTLESS_S if any(map(_is_restless, watched)) else CALM_S
    with transaction(site.engine) as db:
        if not looks.turn(db, kind, now() + timedelta(seconds=pace_s)):
            return
    began = time.monotonic()
    try:
        answers = cluster.ask([Held(row.job_id, row.job_name or "") for row in watched])
    except BusyError:
        return
    took_s = time.monotonic() - began
    said = [new for row in watched if (new := _news(site, row, answers[row.job_id]))]
    wait_s = max(min(took_s * SLOWNESS, SLOWEST_S), _scarcity_s(cluster.looks_left()))
    with transaction(site.engine) as db:
        looks.note(db, said)
        if wait_s > pace_s:
            looks.put_off(db, kind, now() + timedelta(seconds=wait_s))


def _scarcity_s(left: int | None) -> float:
    """How long the next look has to wait, so that some are left when something happens half a minute from now."""
    return 0.0 if left is None else min(SCARCE_S / (2 * left + 1), SCARCEST_S)


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
        case Gone(reason=reason, cause=cause):
            return Said(row.id, row.attempt, gone_reason=reason, gone_cause=cause, gone_at=now())
        case Unknown():
            return Said(row.id, row.attempt, row.waits_for, row.waits_kind, row.unknown_since or now())


def _weigh(site: Site, row: Any, answer: Answer) -> Answer:
    """A job that the cluster merely knows no more: alive if it gives signs of life, gone if it is silent for long."""
    if not isinstance(answer, Gone) or answer.sure:
        return answer
    age_s = RunFolder.of(site.runs_folder, row.id, row.key).beat_age_s(row.attempt)
    if age_s is not None and age_s < BEAT_S:
        return Alive()
    doubted = row.unknown_since is not None and now() - row.unknown_since > DOUBT
    return answer if doubted else Unknown(answer.reason)
