"""The service of this database: its identity, and the ids that it gives. No id is given twice.

SQLite gives the highest id of its rows plus one, so the database counts the ids itself. PostgreSQL has sequences. A
database that was restored is behind what the service has given since: its ids continue above what `raise_ids` is told.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from contract.folder.service_records import IDENTITY_CHARS, Mark
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.service import Change, Service

WHOLE_KEY = 12  # random digits of a key: 100,000 stored runs and 1,000 new ones share them once in three million times


class Given(NamedTuple):
    """The highest ids that were given."""

    experiments: int
    runs: int


_TABLES: dict[str, type[Experiment] | type[Run]] = {"experiments": Experiment, "runs": Run}


def identity(db: Session) -> str:
    """Return the identity of this database's service."""
    found: str = db.scalars(select(Service.identity)).one()
    assert len(found) == IDENTITY_CHARS
    return found


def new_ids(db: Session, table: str, count: int) -> Sequence[int]:
    """Return ids for `count` new rows of "experiments" or "runs", ascending."""
    if db.get_bind().dialect.name == "postgresql":
        names = f"SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, :count)"
        return sorted(db.scalars(text(names), {"count": count}))
    column, model = getattr(Service, table), _TABLES[table]
    highest = select(func.coalesce(func.max(model.id), 0)).scalar_subquery()
    change = update(Service).values({column: func.max(column, highest) + count}).returning(column)
    last = db.execute(change.execution_options(synchronize_session=False)).scalar_one()
    return range(last - count + 1, last + 1)


def given_ids(db: Session) -> Given:
    """Return the highest ids that this database has given."""
    found = {}
    for table, model in _TABLES.items():
        stored = db.scalar(select(func.max(model.id))) or 0
        if db.get_bind().dialect.name == "postgresql":
            last = db.scalar(text(f"SELECT last_value FROM {table}_id_seq WHERE is_called")) or 0
        else:
            last = db.scalar(select(getattr(Service, table))) or 0
        found[table] = max(int(last), stored)
    return Given(**found)


def raise_ids(db: Session, least: Given) -> None:
    """Give no id up to these any more."""
    for table, highest in least._asdict().items():
        if db.get_bind().dialect.name == "postgresql":
            new = f"SELECT setval('{table}_id_seq', GREATEST(:highest, (SELECT last_value FROM {table}_id_seq)))"
            if highest:
                db.execute(text(new), {"highest": highest})
        else:
            column = getattr(Service, table)
            db.execute(update(Service).values({column: func.max(column, highest)}))


def counted_marks(db: Session) -> int:
    """Return how many marks this database has counted."""
    return db.scalars(select(Service.marks)).one()


def raise_marks(db: Session, least: int) -> None:
    """Count marks from this one on: a database that was restored has been brought up to it."""
    db.execute(update(Service).where(Service.marks < least).values(marks=least))


def newest_change(db: Session) -> int:
    """Return the version of the newest change, by which a reader sees that there is any."""
    return db.scalar(select(func.max(Change.version))) or 0


def count_mark(db: Session) -> Mark:
    """Count one more mark, and return what it says."""
    count = update(Service).values(marks=Service.marks + 1).returning(Service.marks)
    marks = db.execute(count.execution_options(synchronize_session=False)).scalar_one()
    given = given_ids(db)
    return Mark(count=marks, experiments=given.experiments, runs=given.runs)
