"""The common case of collecting: runs that train and have said points, nothing else; no run's row is read for it."""

from collections.abc import Iterator, Sequence

from contract.folder.events import Points
from scheduler.context import Site
from scheduler.events.tail import has_news, read_tail
from scheduler.news import News, portions
from store import runs
from store.metrics import points
from store.runs import LiveRun, Told
from store.session import transaction


def advance(site: Site, live: Sequence[LiveRun]) -> set[int]:
    """Store the points of runs that said nothing but points; return which runs need not be looked at any more."""
    fresh = [run for run in live if has_news(site.folder_of(run).events, run.cursor)]
    done = {run.id for run in live} - {run.id for run in fresh}
    for portion in portions(_only_points(site, fresh)):
        _store(site, portion)
        done.update(news.run.id for news in portion)
    return done


def _only_points(site: Site, fresh: Sequence[LiveRun]) -> Iterator[News]:
    for run in fresh:
        tail = read_tail(site.folder_of(run).events, run.cursor)
        if not tail.more and all(isinstance(event, Points) for event in tail.events):
            yield News(run, tail)


def _store(site: Site, portion: Sequence[News]) -> None:
    with transaction(site.engine) as db:
        # what another hand has stored meanwhile is not among them
        ours = runs.read_on_together(db, [_told(news) for news in portion])
        points.put_together(db, {news.run.id: _points(news) for news in portion if news.run.id in ours})


def _points(news: News) -> list[Points]:
    return [event for event in news.tail.events if isinstance(event, Points)]


def _told(news: News) -> Told:
    latest: dict[str, float | None] = {}
    for told in (said := _points(news)):
        latest.update(told.values)
    return Told(news.run, news.tail.cursor, latest, max((told.step for told in said), default=0))
