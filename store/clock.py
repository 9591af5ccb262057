"""The service's one clock: the database's, where it has one of its own. Its workers' clocks may differ by minutes."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, event

_reading: tuple[datetime, float] | None = None  # the database's time, and time.monotonic() at that moment


def now() -> datetime:
    """Return the present moment in UTC."""
    if _reading is None:
        return datetime.now(UTC)
    at, then = _reading
    return at + timedelta(seconds=time.monotonic() - then)


def follow(engine: Engine) -> None:
    """Use the clock of this PostgreSQL; every new connection reads it again."""
    event.listen(engine, "connect", _read)


def _read(connection: Any, _record: object) -> None:
    global _reading
    with connection.cursor() as cursor:
        (at,) = cursor.execute("SELECT clock_timestamp()").fetchone()
    connection.rollback()
    _reading = at, time.monotonic()
