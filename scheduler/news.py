"""What runs have said since they were last read, and portions of it for one transaction each."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scheduler.clusters.cluster import Gone
from scheduler.events.tail import AT_ONCE_BYTES, Tail
from store.runs import LiveRun

AT_ONCE = 100  # runs in a transaction: long enough to be worth it, short enough for whoever waits to write


class News(NamedTuple):
    """What a run has said since its cursor, and that its job is gone."""

    run: LiveRun
    tail: Tail
    gone: Gone | None = None


def portions(several: Iterable[News]) -> Iterator[list[News]]:
    """Some at a time, of a length that a transaction and the memory bear; read while they are asked for."""
    portion: list[News] = []
    size_bytes = 0
    for news in several:
        portion.append(news)
        size_bytes += news.tail.cursor - news.run.cursor
        if len(portion) == AT_ONCE or size_bytes >= AT_ONCE_BYTES:
            yield portion
            portion, size_bytes = [], 0
    if portion:
        yield portion
