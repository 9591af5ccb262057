"""Alembic's environment. `python -m migrations` runs this module."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection, text

from store.session import engine_for
from store.tables.base import Table
from store.tables.column_types import EnumText, ModelJson, UtcDateTime

LOCK = 0x62696762617463  # the key of PostgreSQL's advisory lock of migrations: "bigbatc"


def run() -> None:
    """Migrate the database whose URL is in the configuration."""
    engine = engine_for(context.config.attributes["url"])
    with engine.connect().execution_options(writes=True) as connection, _alone(connection):
        _suspend_foreign_keys(connection, True)
        # Batch mode, because SQLite alters a table by copying it.
        context.configure(connection, target_metadata=Table.metadata, render_as_batch=True, render_item=_render)
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
        _suspend_foreign_keys(connection, False)


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Wait for other migrations of the database; the next one finds the tables as they are then.

    In SQLite a migration is one transaction, which begins with the lock of writers.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    connection.execute(text("select pg_advisory_lock(:key)"), {"key": LOCK})
    connection.commit()
    try:
        yield
    finally:  # not with the connection, which goes back to its pool
        connection.rollback()
        connection.execute(text("select pg_advisory_unlock(:key)"), {"key": LOCK})
        connection.commit()


def _suspend_foreign_keys(connection: Connection, suspend: bool) -> None:
    """Turn SQLite's foreign keys off or on, because they forbid replacing a referenced table."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection  # the pragma has no effect inside a transaction
        assert raw is not None
        raw.execute(f"PRAGMA foreign_keys={'OFF' if suspend else 'ON'}")
        if not suspend and (broken := raw.execute("PRAGMA foreign_key_check").fetchall()):
            raise RuntimeError(f"rows have foreign keys to missing rows: {broken[:5]}")


def _render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Return the database's type in the place of ours: a migration must run long after our types have changed."""
    if kind != "type":
        return False
    if isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, EnumText):
        return "sa.String()"
    return "sa.JSON()" if isinstance(item, ModelJson) else False


run()
