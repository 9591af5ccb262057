"""Signed values that ended before their time: sessions that were signed out, sign-in codes that were used."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.tables.base import now
from store.tables.service import EndedValue

KEPT_FOR = timedelta(days=1)  # after the expiry: the clock of another process of the API may be behind


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
