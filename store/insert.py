"""INSERT with ON CONFLICT, which SQLAlchemy has per dialect."""

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from store.tables.base import Table


def insert_into(db: Session, table: type[Table]) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT into the table that supports ON CONFLICT."""
    return sqlite.insert(table) if db.get_bind().dialect.name == "sqlite" else postgresql.insert(table)
