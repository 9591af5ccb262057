"""Read what live runs have said, and end the runs whose jobs are gone.

How jobs are is known first (scheduler/look.py stores it), the files are read after: whatever a dead job wrote is
then in its file. Points, cursor and moves are one transaction, so a crash in between repeats harmlessly.
"""

import logging
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from contract.event import Event, Failed, Finished, Paused, Points, Resumed, Saved, Started
from contract.folder import GIVEN_UP, RunFolder
from contract.retries import Cause
from contract.run import LIVE, State
from contract.series import CHECKPOINT_BYTES, CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from scheduler.advance import advance
from scheduler.answers import answers
from scheduler.clusters.cluster import Alive, Answer, Gone, Unknown
from scheduler.go_on import fail, go_on
from scheduler.site import Site, held
from scheduler.tail import has_news, read_tail
from store import attempts, points, restarts, runs
from store.runs import LiveRun
from store.session import snapshot, transaction
from store.tables import Run, now

FULL_BYTES = 1 << 16  # a disk with less has no room for a rank's last words
LINGER = timedelta(seconds=60)  # for so long a shared file system may not show what a node has written
log = logging.getLogger(__name__)


def collect(site: Site) -> None:
    """Bring every live run up to date, those of this machine first: they are asked at once."""
    with snapshot(site.engine) as db:
        live = runs.live(db, ended_after=now() - LINGER)
    by_cluster: dict[str, list[LiveRun]] = defaultdict(list)
    for run in live:
        by_cluster[run.cluster].append(run)
    for kind in sorted(by_cluster, key=lambda kind: kind != "local"):
        _collect_from(site, kind, by_cluster[kind])


def _collect_from(site: Site, kind: str, live: Sequence[LiveRun]) -> None:
    told = answers(site, kind, live)
    settled = _advance(site, [run for run in live if run.state == State.RUNNING and isinstance(told[run.id], Alive)])
    for run in live:
        if run.id in settled:
            continue
        try:
            _bring_up_to_date(site, run, told[run.id])
        except Exception:  # one run's trouble must not keep the others' points waiting
            log.exception("run %d could not be collected", run.id)
    if (cluster := site.clusters.get(kind)) is None or cluster.is_here:
        _note_silence(site, live, told)


def _advance(site: Site, training: Sequence[LiveRun]) -> set[int]:
    try:
        return advance(site, training)
    except Exception:  # one of them is in trouble: it is found when each is looked at by itself
        log.exception("runs could not be collected together")
        return set()


def _bring_up_to_date(site: Site, run: LiveRun, answer: Answer) -> None:
    folder, more, state = site.folder_of(run), True, State(run.state)
    gone = answer if isinstance(answer, Gone) and state in LIVE and not _may_say_more(run, answer) else None
    while more:
        if not gone and not has_news(folder.events, run.cursor):
            return
        tail = read_tail(folder.events, run.cursor)
        more = tail.more
        with transaction(site.engine) as db:
            if not runs.read_on(db, run, tail.cursor):
                return  # another hand has stored these events
            row = db.get_one(Run, run.id)
            _take(db, row, tail.events)
            if gone and not more and row.state in LIVE:
                go_on(db, row, _cause(folder, row, gone), _last_words(folder, row, gone))
            state, run = State(row.state), run._replace(cursor=tail.cursor)
        gone = gone if state in LIVE else None
    cluster = site.clusters.get(run.cluster)
    if isinstance(answer, Alive) and state == State.FAILED and run.job_id and cluster and cluster.is_here:
        # the run has said that it failed: no rank of it may go on waiting for the others (elsewhere `sweep` ends it)
        cluster.cancel([held(run)])


def _may_say_more(run: LiveRun, gone: Gone) -> bool:
    """Whether a job that ended in good order may have said so in lines that are still under way."""
    return gone.cause is Cause.DONE and run.gone_at is not None and now() - run.gone_at < LINGER


def _take(db: Session, run: Run, events: Sequence[Event]) -> None:
    """Store events and move the run by them."""
    said = [point for event in events if (point := _points(event))]
    points.put(db, run.id, said)
    latest: dict[str, Any] = dict(run.latest)
    for told in said:
        latest.update(told.values)
    run.latest, run.step = latest, max([run.step, *(told.step for told in said)])
    db.flush()
    for event in events:
        if isinstance(event, Resumed):
            restarts.note(db, run.id, event)
        if event.attempt == run.attempt and run.state in LIVE:
            _move_by(db, run, event)


def _points(event: Event) -> Points | None:
    """What an event measured: a step, or a checkpoint's cost."""
    if isinstance(event, Saved) and event.error is None:
        costs = {CHECKPOINT_STALL_S: event.stall_s, CHECKPOINT_WRITE_S: event.write_s}
        values = {**costs, CHECKPOINT_BYTES: float(event.size_bytes)}
        return Points(attempt=event.attempt, at=event.at, step=event.step, values=dict(values))
    return event if isinstance(event, Points) else None


def _move_by(db: Session, run: Run, event: Event) -> None:
    match event:
        case Started(hosts=hosts) if run.state == State.PENDING:
            runs.move(db, run, State.RUNNING, hosts=sorted(set(hosts)))
        case Finished():
            attempts.note(db, run, Cause.DONE, None)
            runs.move(db, run, State.DONE)
        case Failed(reason=reason):
            fail(db, run, reason)
        case Paused(reason=reason) if run.stop_wanted_at:
            go_on(db, run, Cause.PREEMPTED, reason)
        case Paused(step=step, reason=reason) if run.state != State.PAUSED:
            cause = Cause.TIME_LIMIT if "SIGUSR2" in reason else Cause.PREEMPTED
            runs.move(db, run, State.PAUSED, reason=f"paused at step {step}: {reason}", own_cause=cause)


def _cause(folder: RunFolder, run: Run, gone: Gone) -> Cause:
    """Why the job ended: in the cluster's words where these are precise, else in the run's own."""
    if gone.cause is Cause.FAILURE and folder.began_again(run.attempt):
        return Cause.PREEMPTED  # requeued; that it left at its second start is no failure
    if gone.cause is Cause.FAILURE and folder.claimed_by(run.attempt) == GIVEN_UP:
        return Cause.LOST  # its launcher came back as it was given up, so the job had to leave
    vague = gone.cause in (Cause.DONE, Cause.FAILURE, Cause.LOST)
    return (
        Cause(run.own_cause) if vague and run.own_cause else Cause.FAILURE if gone.cause is Cause.DONE else gone.cause
    )


def _last_words(folder: RunFolder, run: Run, gone: Gone) -> str:
    """The best that can be said of a job that ended without a last word of its own."""
    falls = folder.falls(run.attempt)
    if falls:
        # a rank that was killed leaves echoes alone, and the cluster knows why it was
        return f"{gone.reason}; {falls[0].reason}" if falls[0].echo else falls[0].reason
    if not folder.claimed_by(run.attempt):
        return f"{gone.reason}; it never began to train, see its log"
    return f"{gone.reason}, without a last word{_of_the_disk(folder)}"


def _of_the_disk(folder: RunFolder) -> str:
    """What may have kept the run from speaking."""
    try:
        free = shutil.disk_usage(folder.path).free
    except OSError:
        return ""
    return "" if free >= FULL_BYTES else f"; the disk of its folder is full ({free} bytes are free)"


def _note_silence(site: Site, live: Sequence[LiveRun], told: Mapping[int, Answer]) -> None:
    silent = [run.id for run in live if isinstance(told[run.id], Unknown) and not run.unknown_since]
    heard = [run.id for run in live if not isinstance(told[run.id], Unknown) and run.unknown_since]
    if silent or heard:
        with transaction(site.engine) as db:
            runs.set_unknown(db, silent, True)
            runs.set_unknown(db, heard, False)
