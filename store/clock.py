"""The service's one clock: the database's, where it has one of its own. Its workers' clocks may differ by minutes."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, event

_told: tuple[datetime, float] | None = None  # the database's time, and ours by a clock that nobody sets


def now() -> datetime:
    if _told is None:
        return datetime.now(UTC)
    at, then = _told
    return at + timedelta(seconds=time.monotonic() - then)


def keep(engine: Engine) -> None:
    """Go by the clock of this PostgreSQL; every new connection sets ours anew."""
    event.listen(engine, "connect", _ask)


def _ask(connection: Any, _record: object) -> None:
    global _told
    with connection.cursor() as cursor:
        (at,) = cursor.execute("SELECT clock_timestamp()").fetchone()
    connection.rollback()
    _told = at, time.monotonic()
