"""The metadata of the first tables, and what SQLite and PostgreSQL write differently."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

METADATA = sa.MetaData()


def first_tables() -> sa.MetaData:
    """Return a copy of the metadata. PostgreSQL marks a foreign key that it adds late; SQLite leaves it out then."""
    copy = sa.MetaData()
    for table in METADATA.tables.values():
        table.to_metadata(copy)
    return copy


def where(condition: str) -> dict[str, Any]:
    """Return the arguments of an index that has only the rows of a condition."""
    return {f"{database}_where": sa.text(condition) for database in ("sqlite", "postgresql")}


class NoBytes(sa.ColumnElement[bytes]):
    """The default of a column of bytes: none. SQLite would store '' as a text."""

    inherit_cache = True


@compiles(NoBytes)
def _write(_element: NoBytes, _compiler: Any, **_: Any) -> str:
    return "''"


@compiles(NoBytes, "sqlite")
def _write_for_sqlite(_element: NoBytes, _compiler: Any, **_: Any) -> str:
    return "x''"
