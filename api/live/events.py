"""GET /events: server-sent events of what changed, for pages and programs that follow along."""

import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.http.methods import IS_HEAD_KEY
from api.http.statuses import STREAM
from api.live.hub import Hub
from api.live.scope import Scope, find_scope
from api.live.subscription import Subscription
from api.parameters import MAX_INTEGER
from store.session import snapshot

router = APIRouter(tags=["service"])
MAX_FOLLOWED = 200  # experiments, and runs, of one stream
MAX_VERSION = 2**63 - 1
RETRY_MS = 1_000  # a browser waits so long before it connects again

Id = Annotated[int, Query(ge=0, le=MAX_INTEGER, examples=[42])]
Experiments = Annotated[
    Sequence[Id],
    Query(max_length=MAX_FOLLOWED, description="Ids of experiments that the stream follows, with all their runs."),
]
Runs = Annotated[
    Sequence[Id], Query(max_length=MAX_FOLLOWED, description="Ids of runs that the stream follows, with their logs.")
]
After = Annotated[
    int | None,
    Query(
        ge=0,
        le=MAX_VERSION,
        description="Id of the last event that the client got: the stream begins with what changed since.",
        examples=[1200],
    ),
]
LastEventId = Annotated[
    str | None,
    Header(
        max_length=30,
        description="The same as `after`, which browsers send by themselves when they connect again.",
        examples=["1200"],
    ),
]


async def _stream(
    request: Request,
    experiment: Experiments = (),
    run: Runs = (),
    after: After = None,
    last_event_id: LastEventId = None,
) -> AsyncIterator[Subscription]:
    state = request.app.state

    def find() -> Scope:
        runs_folder: Path = state.settings.runs_folder()
        with snapshot(state.engine) as db:
            return find_scope(db, experiment, run, runs_folder)

    hub: Hub = state.live
    async with hub.follow(await to_thread.run_sync(find), _version(last_event_id, after)) as stream:
        yield stream


@router.get("/events", response_class=EventSourceResponse, responses=STREAM)
async def get_events(
    request: Request, stream: Annotated[Subscription, Depends(_stream)]
) -> AsyncIterator[ServerSentEvent]:
    """Return a stream of events: which runs and experiments changed, and how long logs are; without ids of all.

    `change` has the changed items (`ChangedItems`), `log` the size of a log (`LogSize`). After `reload` the client
    reads anew what it shows: more changed than one event can say. `beat` shows that the connection works.
    """
    hub: Hub = request.app.state.live
    until = time.monotonic() + hub.lifetime_s
    yield ServerSentEvent(retry=RETRY_MS)
    if IS_HEAD_KEY in request.scope:
        return
    while event := await stream.get(max(0.0, until - time.monotonic())):
        yield event


def _version(last_event_id: str | None, after: int | None) -> int | None:
    """Return the version from which a client goes on; a header of another service counts as none."""
    digits = last_event_id or ""
    return min(int(digits), MAX_VERSION) if digits.isascii() and digits.isdigit() else after
