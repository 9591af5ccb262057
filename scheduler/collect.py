"""Read what live runs have said, and end the runs whose jobs are gone.

The clusters are asked first, the files read after: whatever a dead job wrote is then in its file. Points, cursor and
moves are one transaction, so a crash in between repeats harmlessly.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from contract.event import Event, Failed, Finished, Paused, Points, Resumed, Started
from contract.folder import RunFolder
from contract.run import LIVE, State
from scheduler.clusters.cluster import Alive, Answer, Gone, Unknown
from scheduler.go_on import go_on
from scheduler.site import Site
from scheduler.tail import read_tail
from store import points, restarts, runs
from store.session import snapshot, transaction
from store.tables import Run

log = logging.getLogger(__name__)


def collect(site: Site) -> None:
    """Bring every live run up to date, those of this machine first: it answers at once, Slurm may take a while."""
    with snapshot(site.engine) as db:
        live = list(runs.in_state(db, *LIVE))
    by_cluster: dict[str, list[Run]] = defaultdict(list)
    for run in live:
        by_cluster[run.cluster].append(run)
    for kind in sorted(by_cluster, key=lambda kind: kind != "local"):
        _collect_from(site, kind, by_cluster[kind])


def _collect_from(site: Site, kind: str, live: Sequence[Run]) -> None:
    answers = _ask(site, kind, live)
    for run in live:
        try:
            _bring_up_to_date(site, run, answers[run.id])
        except Exception:  # one run's trouble must not keep the others' points waiting
            log.exception("run %d could not be collected", run.id)
    _note_silence(site, live, answers)


def _ask(site: Site, kind: str, live: Sequence[Run]) -> dict[int, Answer]:
    cluster = site.clusters.get(kind)
    told = cluster.ask([str(run.job_id) for run in live]) if cluster else {}
    absent = Unknown("this service has no such cluster now")
    return {run.id: told.get(str(run.job_id), absent) for run in live}


def _bring_up_to_date(site: Site, run: Run, answer: Answer) -> None:
    folder, more = site.folder_of(run), True
    while more and run.state in LIVE:
        tail = read_tail(folder.events, run.cursor)
        more, gone = tail.more, isinstance(answer, Gone) and not tail.more
        if tail.cursor == run.cursor and not gone:
            return
        with transaction(site.engine) as db:
            if not runs.read_on(db, run, tail.cursor):
                return  # another hand has stored these events
            run = db.get_one(Run, run.id)
            _take(db, run, tail.events)
            if isinstance(answer, Gone) and gone and run.state == State.PAUSED:
                go_on(db, run)
            elif isinstance(answer, Gone) and gone and run.state in LIVE:
                _end(db, run, _last_words(folder, run, answer))
    if isinstance(answer, Alive) and run.state == State.FAILED and run.job_id:
        # the run has said that it failed: no rank of it may go on waiting for the others
        site.clusters[run.cluster].cancel([run.job_id])


def _take(db: Session, run: Run, events: Sequence[Event]) -> None:
    """Store events and move the run by them."""
    said = [event for event in events if isinstance(event, Points)]
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


def _move_by(db: Session, run: Run, event: Event) -> None:
    match event:
        case Started() if run.state == State.PENDING:
            runs.move(db, run, State.RUNNING)
        case Finished():
            runs.move(db, run, State.DONE)
        case Failed(reason=reason):
            _end(db, run, reason)
        case Paused(reason=reason) if run.stop_wanted_at:
            _end(db, run, reason)
        case Paused(step=step, reason=reason) if run.state != State.PAUSED:
            runs.move(db, run, State.PAUSED, reason=f"paused at step {step}: {reason}")


def _end(db: Session, run: Run, reason: str) -> None:
    """A run that did not finish: cancelled when that was wished, failed otherwise."""
    if run.stop_wanted_at:
        runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    else:
        runs.move(db, run, State.FAILED, reason=reason)


def _last_words(folder: RunFolder, run: Run, gone: Gone) -> str:
    """The best that can be said of a job that ended without a last word of its own."""
    falls = folder.falls(run.attempt)
    if falls:
        # a rank that was killed leaves echoes alone, and the cluster knows why it was
        return f"{gone.reason}; {falls[0].reason}" if falls[0].echo else falls[0].reason
    if not folder.claimed_by(run.attempt):
        return f"{gone.reason}; it never began to train, see its log"
    return f"{gone.reason}, without a last word"


def _note_silence(site: Site, live: Sequence[Run], answers: Mapping[int, Answer]) -> None:
    silent = [run.id for run in live if isinstance(answers[run.id], Unknown) and not run.unknown_since]
    heard = [run.id for run in live if not isinstance(answers[run.id], Unknown) and run.unknown_since]
    if silent or heard:
        with transaction(site.engine) as db:
            runs.set_unknown(db, silent, True)
            runs.set_unknown(db, heard, False)
