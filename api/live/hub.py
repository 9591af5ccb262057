"""The reader of changes: one task of the process reads the database for all streams, and none without a stream."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi.sse import ServerSentEvent
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from api.errors import Busy
from api.live.logs import LogWatch
from api.live.marks import Marks
from api.live.scope import Scope, items_of
from api.live.subscription import Subscription, reload_event
from contract.api.service import ChangedItems
from store import changes
from store.changes import MAX_ROWS, ChangedRow, Changes
from store.session import snapshot
from store.tables.base import now

MAX_STREAMS = 1_000  # of a process
LIFETIME_S = 600.0  # a client connects again, and its access is checked again
BEAT_S = 10.0  # between two events, at most: a client notices that nothing arrives any more
RECENT = timedelta(seconds=10)  # a new client gets these changes: it may have read before them
log = logging.getLogger(__name__)
T = TypeVar("T")


class Hub:
    """All streams of this process."""

    def __init__(self, engine: Engine, period_s: float, *, lifetime_s: float = LIFETIME_S) -> None:
        """`period_s` is the time between two reads; 0: no streams."""
        self.period_s, self.lifetime_s = period_s, lifetime_s
        self.marks = Marks()
        self._engine = engine
        self._streams: set[Subscription] = set()
        self._reader: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None  # the reader has a position
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next = 0
        self._sent: Mapping[tuple[int, int], int] = {}  # versions that PostgreSQL may give again
        self._beat_at = 0.0
        self._gathered = Gathered()
        self._thread = CapacityLimiter(1)  # the reader never waits for a thread
        self._logs = LogWatch(self._send_log_size)

    @asynccontextmanager
    async def follow(self, scope: Scope, since: int | None) -> AsyncIterator[Subscription]:
        """Yield a stream, which begins with what changed from version `since` on, or lately without one.

        Raise Busy if there are too many streams or none are wanted, or the error of the database.
        """
        if not self.period_s:
            raise Busy("this service has no streams (BIGBATCH_LIVE_SECONDS is 0): ask again every second")
        if len(self._streams) >= MAX_STREAMS:
            raise Busy(f"this process has {MAX_STREAMS} streams: ask again every second")
        stream = Subscription(scope)
        self._streams.add(stream)
        try:
            await self._wait_for_position()
            first = await to_thread.run_sync(self._in_snapshot, lambda db: _first_changes(db, scope, since))
            stream.put(self._first_event(first, since or 0))
            self._logs.follow(stream)
            yield stream
        finally:
            self._streams.discard(stream)
            self._logs.leave(stream)

    def end(self) -> None:
        """End all streams soon; a signal handler may call this."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._close_all)

    async def _wait_for_position(self) -> None:
        if self._reader is None or self._reader.done():
            self._loop = asyncio.get_running_loop()
            self._ready = self._loop.create_future()
            self._reader = asyncio.create_task(self._read_until_alone(self._ready))
        assert self._ready is not None
        await asyncio.shield(self._ready)

    async def _read_until_alone(self, ready: "asyncio.Future[None]") -> None:
        """Read while there are streams. A failure ends them: their clients poll, and see what is wrong."""
        try:
            self._next = await self._run(changes.position)
            self._sent, self._beat_at = {}, time.monotonic()
            ready.set_result(None)
            while self._streams:
                began = time.monotonic()
                self._publish(await self._run(lambda db: changes.read(db, self._next)))
                await asyncio.sleep(max(self.period_s - (time.monotonic() - began), self.period_s / 4))
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                log.exception("the changes cannot be read: the streams end")
            self._close_all()

    async def _run(self, work: Callable[[Session], T]) -> T:
        return await to_thread.run_sync(self._in_snapshot, work, limiter=self._thread)

    def _in_snapshot(self, work: Callable[[Session], T]) -> T:
        with snapshot(self._engine) as db:
            return work(db)

    def _publish(self, found: Changes) -> None:
        """Give each stream what it follows; streams of equal scopes share the text."""
        since, self._next = self._next, found.next
        keys = {(row.experiment_id, row.run_id): row.version for row in found.rows}
        new = [row for row in found.rows if self._sent.get((row.experiment_id, row.run_id)) != row.version]
        self._sent = {key: version for key, version in keys.items() if version >= found.next}
        moment = time.monotonic()
        self._gathered.add(new, since)
        mark = self.marks.make() if new or not found.is_complete else ""
        beat = ServerSentEvent(event="beat", raw_data="{}", id=str(found.next))
        beats = moment - self._beat_at >= BEAT_S
        events: dict[Scope, ServerSentEvent | None] = {}
        for stream in self._streams:
            if stream.scope not in events:
                events[stream.scope] = self._event(stream.scope, found._replace(rows=new), since, moment, mark)
            if event := events[stream.scope] or (beat if beats else None):
                stream.put(event)
        self._beat_at = moment if beats else self._beat_at
        if self._gathered.is_due(moment):
            self._gathered.clear(moment)

    def _event(self, scope: Scope, found: Changes, since: int, moment: float, mark: str) -> ServerSentEvent | None:
        """Return what streams of a scope get now; None for nothing."""
        rows, is_complete = found.rows, found.is_complete
        if scope.is_everything and is_complete:
            if not self._gathered.is_due(moment):
                return None
            rows, is_complete, since = self._gathered.rows, self._gathered.is_complete, self._gathered.since
        if not is_complete:
            return reload_event(str(found.next))
        mine = [row for row in rows if scope.has(row)]
        return _change_event(items_of(mine, since, mark or self.marks.make()), str(found.next)) if mine else None

    def _first_event(self, found: Changes, since: int) -> ServerSentEvent:
        """Return what a client has missed; it comes at once, so the client knows that events reach it."""
        if not found.is_complete or since > found.next:  # the version is of another database
            return reload_event(str(found.next))
        return _change_event(items_of(found.rows, since, self.marks.make()), str(found.next))

    def _send_log_size(self, stream: Subscription, text: str) -> None:
        stream.put(ServerSentEvent(event="log", raw_data=text))

    def _close_all(self) -> None:
        for stream in self._streams:
            stream.close()


def _change_event(items: ChangedItems, event_id: str) -> ServerSentEvent:
    return ServerSentEvent(event="change", raw_data=items.model_dump_json(), id=event_id)


def _first_changes(db: Session, scope: Scope, since: int | None) -> Changes:
    if since is None:
        return changes.read_recent(db, now() - RECENT, scope.which)
    return changes.read(db, since, scope.which)


APART_S = 2.0  # between two events of a stream that follows everything


class Gathered:
    """The newest row of each run and experiment that changed since the last event."""

    def __init__(self) -> None:
        self.since = 0  # the version from which these rows changed
        self._rows: dict[tuple[int, int], ChangedRow] = {}
        self._at = -math.inf

    @property
    def rows(self) -> Sequence[ChangedRow]:
        """The rows."""
        return list(self._rows.values())

    @property
    def is_complete(self) -> bool:
        """Whether one event can say them."""
        return len(self._rows) <= MAX_ROWS

    def add(self, rows: Sequence[ChangedRow], since: int) -> None:
        """Add rows that changed from version `since` on."""
        if not self._rows:
            self.since = since
        self._rows |= {(row.experiment_id, row.run_id): row for row in rows}

    def is_due(self, moment: float) -> bool:
        """Return whether it is time for an event, at a moment in seconds."""
        return bool(self._rows) and moment - self._at >= APART_S

    def clear(self, moment: float) -> None:
        """Begin anew after an event."""
        self._rows, self._at = {}, moment
