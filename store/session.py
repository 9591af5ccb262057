"""Engines and transactions: the same code for SQLite (one machine) and PostgreSQL (teams)."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from contract.private_files import make_private, make_private_file
from store import changes, clock
from store.notify import occurrences

CONNECT_S = 10  # for so long a new connection waits for a server that does not answer at all
BUSY_S = 30  # for so long a writer waits for another before it fails
OPEN_CONNECTIONS, MOST_CONNECTIONS = 5, 15  # of a process: those that stay open, and all
_POOL = {"pool_size": OPEN_CONNECTIONS, "max_overflow": MOST_CONNECTIONS - OPEN_CONNECTIONS}


@cache
def engine_for(url: str) -> Engine:
    """Return the process's one engine for a database URL. Its errors name no parameters, which may be secrets."""
    if make_url(url).get_backend_name() != "sqlite":
        # a connection is replaced after an hour, which reads the clock again
        patience = {} if "connect_timeout" in make_url(url).query else {"connect_timeout": CONNECT_S}
        options = {"pool_pre_ping": True, "pool_recycle": 3600, "hide_parameters": True, "connect_args": patience}
        engine = create_engine(_with_driver(url), **options, **_POOL)
        event.listen(engine, "connect", _prepare_postgresql)
        clock.follow(engine)
        return engine
    if (path := make_url(url).database) and _is_path(path):
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    arguments = {"timeout": BUSY_S, "check_same_thread": False}
    engine = create_engine(url, connect_args=arguments, hide_parameters=True, **_POOL)
    event.listen(engine, "do_connect", _close_to_other_users)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


@contextmanager
def transaction(engine: Engine) -> Iterator[Session]:
    """Yield a session whose work is committed as a whole at the end, or not at all."""
    with engine.connect() as connection:
        writing = connection.execution_options(writes=True)
        with Session(writing, expire_on_commit=False) as db, db.begin():
            yield db
            occurrences.write(db)
            changes.write(db)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Session]:
    """Yield a session with a consistent view to read from; readers and writers never wait for each other."""
    # SQLite's transactions are snapshots already
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**level) as connection, Session(connection, expire_on_commit=False) as db:
        yield db


def _with_driver(url: str) -> str:
    """Return the URL with psycopg 3, the installed driver, for postgresql://."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def is_read_only(error: sqlite3.Error) -> bool:
    """Return whether SQLite may not write the file, or no file beside it: it has a journal there."""
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_READONLY_DIRECTORY)


def _is_path(database: str) -> bool:
    """Return whether a name of SQLite is that of a file, and neither a URI nor memory."""
    return database != ":memory:" and not database.startswith("file:")


def _close_to_other_users(_dialect: object, _record: object, arguments: list[str], _options: object) -> None:
    """Make the database's file with mode 0600, or tighten it; SQLite gives its further files the same mode."""
    if not _is_path(arguments[0]):
        return
    path = Path(arguments[0])
    with suppress(OSError):  # SQLite itself reports a file that it cannot open
        make_private_file(path)
        for suffix in ("-wal", "-shm"):  # made by an earlier version
            make_private(path.with_name(path.name + suffix))


def _prepare_postgresql(connection: Any, _record: object) -> None:
    # it compiles a query of estimated high cost for a second; no query of the service runs for so long
    connection.execute("SET jit = off")
    connection.commit()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # _begin_sqlite begins the transactions
    for pragma in (f"busy_timeout={BUSY_S * 1000}", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    _use_wal(connection)


def _use_wal(connection: Any) -> None:
    """Let readers and a writer work at once. SQLite does not wait here by itself for other processes at a new file."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if time.monotonic() > until or is_read_only(error):
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    # a writer takes the lock at its beginning: of two that read first and write later, one would fail
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
