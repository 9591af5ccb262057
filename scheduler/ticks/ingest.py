"""Read what live runs have said, and end the runs whose jobs are gone.

How jobs are is known first (scheduler/ticks/poll.py stores it), the files are read after: whatever a dead job wrote is
then in its file. Points, cursor and moves are one transaction, so a crash in between repeats harmlessly.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from contract.folder.run_folder import GIVEN_UP, RunFolder
from contract.lifecycle.state import LIVE, State
from contract.spec.retry import Cause
from scheduler.advance import advance
from scheduler.clusters.cluster import Alive, Answer, Gone, Unknown
from scheduler.context import Site, held
from scheduler.events.apply import measured, take
from scheduler.events.tail import has_news, read_tail
from scheduler.jobs.status import answers
from scheduler.news import News, portions
from scheduler.outcome.evidence import last_words
from scheduler.outcome.exit_cause import LINGER, cause_of, may_say_more
from scheduler.outcome.retry import go_on
from store import clusters, runs
from store.metrics import points
from store.runs import LiveRun
from store.session import snapshot, transaction
from store.tables import now

MAY_COME_BACK = (Cause.LOST, Cause.NODE_FAILURE, Cause.PREEMPTED)  # a job that had not begun, when its host does
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
    left = [run for run in live if run.id not in settled]
    while left:
        several = portions(_read(site, left, told))
        left = [run for portion in several for run in _bring_up_to_date(site, portion, told)]
    if _is_ours_to_hear(site, kind):
        _note_silence(site, live, told)


def _advance(site: Site, training: Sequence[LiveRun]) -> set[int]:
    try:
        return advance(site, training)
    except Exception:  # one of them is in trouble: it is found when each is looked at by itself
        log.exception("runs could not be collected together")
        return set()


def _read(site: Site, live: Sequence[LiveRun], told: Mapping[int, Answer]) -> Iterator[News]:
    """What each run has said, where it has said anything or its job is gone."""
    for run in live:
        try:
            news = _read_one(site.folder_of(run), run, told[run.id])
        except Exception:  # one run's trouble must not keep the others' points waiting
            log.exception("run %d could not be read", run.id)
            continue
        if news:
            yield news


def _read_one(folder: RunFolder, run: LiveRun, answer: Answer) -> News | None:
    gone = answer if isinstance(answer, Gone) and run.state in LIVE else None
    if gone and may_say_more(folder, run, gone):
        gone = None
    if gone and (run.member is not None or gone.cause in MAY_COME_BACK):
        _give_up_unbegun(folder, run.attempt)
    if not gone and not has_news(folder.events, run.cursor):
        return None
    return News(run, read_tail(folder.events, run.cursor), gone)


def _give_up_unbegun(folder: RunFolder, attempt: int) -> None:
    """The job is gone: who had not begun in it by now never may, though a host of it should come back."""
    if folder.end_status(attempt) is None and not folder.claimed_by(attempt):
        folder.claim(attempt, GIVEN_UP)


def _bring_up_to_date(site: Site, portion: Sequence[News], told: Mapping[int, Answer]) -> list[LiveRun]:
    """Store what runs have said; return those that have said more."""
    try:
        states = _store(site, portion)
    except Exception:  # one of them is in trouble: each by itself, so that it does not keep the others waiting
        if len(portion) > 1:
            return [run for news in portion for run in _bring_up_to_date(site, [news], told)]
        log.exception("run %d could not be collected", portion[0].run.id)
        return []
    ours = [
        (news, news.run._replace(cursor=news.tail.cursor, state=states[news.run.id]))
        for news in portion
        if news.run.id in states
    ]
    for _, run in ours:
        cluster = site.clusters.get(run.cluster)
        if isinstance(told[run.id], Alive) and run.state == State.FAILED and run.job_id and cluster and cluster.is_here:
            # the run has said that it failed: no rank of it may go on waiting for others (elsewhere `sweep` ends it)
            cluster.cancel([held(run)])
    return [run for news, run in ours if news.tail.more]


def _store(site: Site, portion: Sequence[News]) -> dict[int, State]:
    """Store events and move the runs by them; return how these are now, those left out that another hand has stored."""
    with transaction(site.engine) as db, db.no_autoflush:  # all rows are written at the end, together
        rows = runs.hold_as_read(db, [news.run for news in portion])
        mine = [news for news in portion if news.run.id in rows]
        points.put_together(db, {news.run.id: measured(news.tail.events) for news in mine})
        for run, tail, gone in mine:
            row, folder = rows[run.id], site.folder_of(run)
            row.cursor = tail.cursor
            take(db, row, tail.events)
            if gone and not tail.more and row.state in LIVE:
                go_on(db, row, cause_of(db, folder, row, gone), last_words(folder, row, gone))
    return {run_id: State(row.state) for run_id, row in rows.items()}


def _is_ours_to_hear(site: Site, kind: str) -> bool:
    """Whether it is here that a cluster's silence shows: of one that only another worker has, that one tells."""
    if cluster := site.clusters.get(kind):
        return cluster.is_here
    with snapshot(site.engine) as db:
        return all(row.kind != kind for row in clusters.all_of(db))


def _note_silence(site: Site, live: Sequence[LiveRun], told: Mapping[int, Answer]) -> None:
    silent = [run.id for run in live if isinstance(told[run.id], Unknown) and not run.unknown_since]
    heard = [run.id for run in live if not isinstance(told[run.id], Unknown) and run.unknown_since]
    if silent or heard:
        with transaction(site.engine) as db:
            runs.note_silence(db, silent, heard)
