"""How Alembic reaches the database; run through `python -m migrations`, never by hand."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

from store.session import engine_for
from store.tables import Table, UtcDateTime


def run() -> None:
    """Migrate the database whose URL the caller put into the configuration."""
    engine = engine_for(context.config.attributes["url"])
    with engine.connect().execution_options(writes=True) as connection:
        _suspend_foreign_keys(connection, True)
        # batch: SQLite alters a table by copying it
        context.configure(connection, target_metadata=Table.metadata, render_as_batch=True, render_item=_render)
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
        _suspend_foreign_keys(connection, False)


def _suspend_foreign_keys(connection: Connection, suspend: bool) -> None:
    """SQLite alters a table by making it anew, which rows that point to the old one would forbid."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection  # before a transaction begins: within one it has no effect
        assert raw is not None
        raw.execute(f"PRAGMA foreign_keys={'OFF' if suspend else 'ON'}")
        if not suspend and (broken := raw.execute("PRAGMA foreign_key_check").fetchall()):
            raise RuntimeError(f"rows point to rows that are not there: {broken[:5]}")


def _render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Migrations name the database's types, not ours: they must run long after ours have changed."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


run()
