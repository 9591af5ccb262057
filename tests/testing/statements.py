"""Recorded SQL statements, their plans, and the work that SQLite does for them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Engine, event

# tables that grow with the use of the service
GROWING = ("experiments", "runs", "jobs", "moves", "restarts", "series", "chunks", "cell_blocks", "changes")
SCANNED = re.compile(rf"\bSCAN ({'|'.join(GROWING)})(?:_\d+)?\b|Seq Scan on ({'|'.join(GROWING)})\b")
MAX_PARAMETERS = 20  # of one text: enough for every state, with and without a match
STEPS_COUNTED = 100  # of SQLite's virtual machine, between two calls of the progress handler


class Statement(NamedTuple):
    """A statement as its driver got it."""

    sql: str
    parameters: Any


@contextmanager
def recorded(engine: Engine) -> Iterator[dict[str, list[Statement]]]:
    """Record the statements that run on the engine, by text, each with its first different parameters.

    Inserts are left out: they search nothing.
    """
    found: dict[str, list[Statement]] = defaultdict(list)

    def record(_c: object, _cursor: object, sql: str, parameters: Any, _context: object, many: bool) -> None:
        if sql.split(None, 1)[0] in ("SELECT", "UPDATE", "DELETE", "WITH"):
            one, same = Statement(sql, parameters[0] if many else parameters), found[sql]
            if one not in same and len(same) < MAX_PARAMETERS:
                same.append(one)

    event.listen(engine, "before_cursor_execute", record)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", record)


@contextmanager
def executed(engine: Engine) -> Iterator[list[str]]:
    """Record the text of each statement as often as it is sent; one with the values of many rows is one."""
    found: list[str] = []

    def record(_c: object, _cursor: object, sql: str, *_: object) -> None:
        found.append(sql)

    event.listen(engine, "before_cursor_execute", record)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", record)


def scanned_tables(engine: Engine, statements: Sequence[Statement]) -> dict[str, list[str]]:
    """Return the plan of each statement that reads all rows of a growing table, though an index could be used."""
    found = {}
    with engine.connect() as connection:
        is_sqlite = engine.dialect.name == "sqlite"
        if not is_sqlite:
            connection.exec_driver_sql("SET enable_seqscan = off")  # a small table is read as a whole otherwise
        for one in statements:
            explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
            rows = connection.exec_driver_sql(f"{explain} {one.sql}", one.parameters).all()
            plan = [str(row[-1]) for row in rows]
            if any(SCANNED.search(line) for line in plan):
                found[one.sql] = plan
    return found


def counted_steps(engine: Engine, statements: Sequence[Statement]) -> dict[str, int]:
    """Carry out each statement on SQLite and undo it; return about how many steps its virtual machine took, at most."""
    counts: dict[str, int] = defaultdict(int)
    for one in statements:
        counts[one.sql] = max(counts[one.sql], _count(engine, one))
    return counts


def _count(engine: Engine, statement: Statement) -> int:
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return 0

    with engine.connect().execution_options(writes=True) as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.set_progress_handler(count, STEPS_COUNTED)
        result = connection.exec_driver_sql(statement.sql, statement.parameters)
        if result.returns_rows:
            result.all()
        raw.set_progress_handler(None, 0)
        connection.rollback()
    return calls * STEPS_COUNTED
