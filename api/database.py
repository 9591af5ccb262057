"""The database as endpoints ask for it: a snapshot to read from, a transaction to write in.

A request has its connection before an endpoint's thread runs, and until after it. So without a limit, requests that
hold all connections would wait for threads, and requests that hold all threads would wait for connections. Each
request therefore waits for its turn first, in no thread, and there are fewer turns than connections.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Annotated

from anyio import Semaphore
from anyio.lowlevel import RunVar
from fastapi import Depends, Request
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from api.errors import UnknownDatabase
from store.database_state import unknown_revision
from store.session import MOST_CONNECTIONS, snapshot, transaction

OTHERS = 3  # connections of what takes one without a turn: streams, exports, endpoints that read files beside
_turns: RunVar[Semaphore] = RunVar("database_turns")  # one for the event loop


async def _reading(request: Request) -> AsyncIterator[Session]:
    async with in_turn(request, snapshot) as db:
        yield db


async def _writing(request: Request) -> AsyncIterator[Session]:
    async with in_turn(request, transaction) as db:
        yield db


@asynccontextmanager
async def in_turn(
    request: Request, section: Callable[[Engine], AbstractContextManager[Session]]
) -> AsyncIterator[Session]:
    """Yield the session of `section`, a snapshot or a transaction, when it is this request's turn."""
    try:
        turns = _turns.get()
    except LookupError:
        _turns.set(turns := Semaphore(MOST_CONNECTIONS - OTHERS))
    async with turns, contextmanager_in_threadpool(section(request.app.state.engine)) as db:
        if not request.app.state.is_database_checked:
            await run_in_threadpool(_check_version, db)
            request.app.state.is_database_checked = True
        yield db


def _check_version(db: Session) -> None:
    if unknown := unknown_revision(db.connection()):
        raise UnknownDatabase(unknown)


async def _attempted(request: Request) -> AsyncIterator[Session | SQLAlchemyError]:
    async with AsyncExitStack() as stack:
        try:
            db: Session | SQLAlchemyError = await stack.enter_async_context(in_turn(request, snapshot))
        except SQLAlchemyError as error:
            db = error
        except UnknownDatabase as error:
            db = SQLAlchemyError(error.message)
        yield db


# scope="function": committed before the answer is sent, so a 201 never speaks of what is not stored
Reading = Annotated[Session, Depends(_reading, scope="function")]
Writing = Annotated[Session, Depends(_writing, scope="function")]
Attempt = Annotated[Session | SQLAlchemyError, Depends(_attempted, scope="function")]  # an outage is an answer too
