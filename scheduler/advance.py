"""The common case of collecting: runs that train and have said points, nothing else; many in one transaction."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from contract.event import Points
from scheduler.site import Site
from scheduler.tail import has_news, read_tail
from store import points, runs
from store.runs import LiveRun
from store.session import transaction

AT_ONCE = 100  # runs in a transaction: long enough to be worth it, short enough for whoever waits to write


class News(NamedTuple):
    """What a run has said since its cursor."""

    run: LiveRun
    cursor: int
    said: list[Points]


def advance(site: Site, live: Sequence[LiveRun]) -> set[int]:
    """Store the points of runs that said nothing but points; return which runs need not be looked at any more."""
    done: set[int] = set()
    several: list[News] = []
    for run in live:
        if not has_news(site.folder_of(run).events, run.cursor):
            done.add(run.id)
        elif news := _only_points(site, run):
            several.append(news)
    for batch in _batches(several):
        _store(site, batch)
        done.update(news.run.id for news in batch)
    return done


def _only_points(site: Site, run: LiveRun) -> News | None:
    tail = read_tail(site.folder_of(run).events, run.cursor)
    said = [event for event in tail.events if isinstance(event, Points)]
    return News(run, tail.cursor, said) if not tail.more and len(said) == len(tail.events) else None


def _batches(several: Sequence[News]) -> Iterator[Sequence[News]]:
    for start in range(0, len(several), AT_ONCE):
        yield several[start : start + AT_ONCE]


def _store(site: Site, batch: Sequence[News]) -> None:
    with transaction(site.engine) as db:
        # what another hand has stored meanwhile is not among them
        ours = runs.read_on_together(db, [(news.run, news.cursor) for news in batch])
        mine = [news for news in batch if news.run.id in ours]
        points.put_together(db, {news.run.id: news.said for news in mine})
        runs.set_latest(db, {news.run.id: _newest(news.said) for news in mine})


def _newest(said: Sequence[Points]) -> tuple[dict[str, Any], int]:
    latest: dict[str, Any] = {}
    for told in said:
        latest.update(told.values)
    return latest, max((told.step for told in said), default=0)
