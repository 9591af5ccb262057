"""What can be wrong with the database as a whole: it does not answer, is read-only, or is of another version."""

import os
import sqlite3
from functools import cache
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from contract.shown_address import shown_address
from store.session import engine_for, is_read_only, snapshot

LAST_OF_OLDER = "9ce4c2b3"  # the last commit whose version carries over what is older than the first migration
VERSIONS = Path(__file__).parents[1] / "migrations" / "versions"
# PostgreSQL's codes of errors that no request causes
STATES = {
    "25006": (
        "the database is read-only (a standby, default_transaction_read_only,"
        " or a file or folder without write permission)"
    ),
    "42501": "the database's account lacks a right",
    "42P01": "the database lacks a table: run python -m migrations upgrade",
    "42703": "the database lacks a column: run python -m migrations upgrade",
}


def told(error: SQLAlchemyError) -> str | None:
    """Return what an error says of the state of the database; None for an error of a statement."""
    if not isinstance(error, DBAPIError):
        return str(error).splitlines()[0]
    said = " ".join(str(error.orig).split("\n")[0].split())
    code = getattr(error.orig, "sqlstate", None)
    if isinstance(error.orig, sqlite3.Error) and is_read_only(error.orig):
        code = "25006"
    if sentence := STATES.get(code or ""):
        return f"{sentence} ({said})"
    return said if isinstance(error, OperationalError) else None


def problem(db: Session) -> str | None:
    """Return why the service cannot work with a database that answers; None if it can."""
    connection = db.connection()
    if other := other_revision(connection):
        return other
    return read_only_problem(connection)


def read_only_problem(connection: Connection) -> str | None:
    """Return that nothing can be written; None if the database takes changes."""
    if connection.dialect.name == "postgresql":
        takes_none = connection.scalar(text("show transaction_read_only")) == "on"
    else:
        # as SQLite has opened it: the URL's may be a URI, or memory
        file = connection.execute(text("select file from pragma_database_list where name = 'main'")).scalar()
        takes_none = bool(file) and not os.access(str(file), os.W_OK)
    return STATES["25006"] if takes_none else None


def start_problem(url: str) -> str | None:
    """Return why no process can start on the database: it does not answer, or its version is not known; else None."""
    try:
        return no_answer(url) or unknown_version(url)
    except SQLAlchemyError as error:
        return unread_version(url, error)


def no_answer(url: str) -> str | None:
    """Return that the database does not answer, and why; None if it does."""
    try:
        with snapshot(engine_for(url)) as db:
            db.connection()
    except SQLAlchemyError as error:
        return f"the database {shown_address(url)} does not answer: {_words(error)}; set BIGBATCH_DATABASE, or start it"
    return None


def unread_version(url: str, error: SQLAlchemyError) -> str:
    """Return why the version of the tables could not be read: the database is away, or what its error says."""
    return no_answer(url) or f"the version of the database {shown_address(url)} cannot be read: {_words(error)}"


def _words(error: SQLAlchemyError) -> str:
    return told(error) or str(error).splitlines()[0]


def unknown_version(url: str) -> str | None:
    """Return that the migrations do not know the database's version; raise SQLAlchemyError if it cannot be read."""
    with snapshot(engine_for(url)) as db:
        return unknown_revision(db.connection())


def other_revision(connection: Connection) -> str | None:
    """Return that the tables are of another version; None if they are of this one."""
    at = revision(connection)
    if unknown := unknown_revision(connection, at):
        return unknown
    if at == newest_revision():
        return None
    return f"its tables have revision {at or 'none'} instead of {newest_revision()}: run python -m migrations upgrade"


def unknown_revision(connection: Connection, at: str | None = None) -> str | None:
    """Return that a newer version made the tables, or one before the first migration; None for any other version."""
    at = at or revision(connection)
    if at is None or first_revision() <= at <= newest_revision():
        return None
    if at < first_revision():
        return (
            f"the database is of an older version of Bigbatch: its tables have revision {at}, and this version "
            f"({version('bigbatch')}) carries over {first_revision()} and later ones: "
            f"start the database once with the version of commit {LAST_OF_OLDER}"
        )
    return (
        f"the database is of a newer version of Bigbatch: its tables have revision {at}, and this version "
        f"({version('bigbatch')}) knows {newest_revision()}: install the newer version, or restore a backup of this one"
    )


def revision(connection: Connection) -> str | None:
    """Return the revision of the tables; None before the first migration."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(select(column("version_num")).select_from(table("alembic_version"))).scalar()


def first_revision() -> str:
    """Return the revision of the first migration."""
    return _revisions()[0]


def newest_revision() -> str:
    """Return the newest revision that this version knows."""
    return _revisions()[-1]


@cache
def _revisions() -> list[str]:
    """Return the revisions in their order: migrations have consecutive numbers."""
    return sorted(path.name[:4] for path in VERSIONS.glob("[0-9]*.py"))
