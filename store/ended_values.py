"""Signed values that ended before their time: sessions that were signed out, sign-in codes that were used."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import Index, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from store.metrics.insert import insert_into
from store.tables import Table, now

KEPT_FOR = timedelta(days=1)  # after the expiry: the clock of another process of the API may be behind


class EndedValue(Table):
    """A signed value that no process of the API accepts any more."""

    __tablename__ = "ended_values"
    __table_args__ = (Index("ix_ended_values_expires_at", "expires_at"), {"sqlite_with_rowid": False})
    nonce: Mapped[str] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime]


def end(db: Session, nonce: str, expires_at: int) -> bool:
    """End a signed value that expires at `expires_at` (seconds since 1970); return False if it had ended before.

    Remove the rows of values that have expired long ago.
    """
    old = EndedValue.expires_at < now() - KEPT_FOR
    db.execute(delete(EndedValue).where(old).execution_options(synchronize_session=False))
    row = insert_into(db, EndedValue).values(nonce=nonce, expires_at=datetime.fromtimestamp(expires_at, UTC))
    return db.scalar(row.on_conflict_do_nothing().returning(EndedValue.nonce)) is not None


def has_ended(db: Session, nonce: str) -> bool:
    """Return whether a signed value was ended."""
    return db.scalar(select(EndedValue.nonce).where(EndedValue.nonce == nonce)) is not None
