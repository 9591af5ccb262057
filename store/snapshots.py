"""Code snapshots in the database: which are complete, which are in use, and which nobody needs."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, exists, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.state import ENDED, State
from contract.snapshot.git_source import GitSource
from contract.snapshot.manifest import Manifest
from store.insert import insert_into
from store.tables.base import now
from store.tables.runs import Run
from store.tables.schedules import ScheduleCode
from store.tables.snapshots import Snapshot
from store.tables.steps import StepCode

OPEN = [state for state in State if state not in ENDED]
MAX_REMOVED = 100  # in one transaction


def find(db: Session, name: str) -> Snapshot | None:
    """Return a stored snapshot; None if there is none."""
    return db.get(Snapshot, name)


def renew(db: Session, name: str) -> bool:
    """Return whether the snapshot is stored, and protect it from the garbage collection for the time of grace."""
    renewed = db.scalars(update(Snapshot).where(Snapshot.hash == name).values(used_at=now()).returning(Snapshot.hash))
    return renewed.first() is not None


def store(db: Session, name: str, manifest: Manifest, source: GitSource | None) -> None:
    """Store a snapshot whose files are complete; one that is stored keeps its source."""
    git = source or GitSource()
    row = {
        "hash": name,
        "created_at": now(),
        "used_at": now(),
        "size": manifest.size,
        "files": len(manifest.files) + len(manifest.links),
        "has_git": source is not None,
        **git.model_dump(),
    }
    db.execute(insert_into(db, Snapshot).on_conflict_do_nothing(), [row])
    renew(db, name)


def missing(db: Session, names: Sequence[str]) -> list[str]:
    """Renew these snapshots; return those that are not stored."""
    return [name for name in sorted(set(names)) if not renew(db, name)]


def remove_unused(db: Session, used_before: datetime) -> list[str]:
    """Remove snapshots that no run, step or schedule names, last used before the moment; return their hashes."""
    is_needed = exists().where(Run.code == Snapshot.hash) | exists().where(StepCode.code == Snapshot.hash)
    is_needed |= exists().where(ScheduleCode.code == Snapshot.hash)
    stale = (Snapshot.used_at < used_before, ~is_needed)
    found = select(Snapshot.hash).where(*stale).order_by(Snapshot.used_at).limit(MAX_REMOVED)
    # the conditions again: PostgreSQL checks them on the rows as they are once it has their locks
    gone = delete(Snapshot).where(Snapshot.hash.in_(found), *stale).returning(Snapshot.hash)
    return list(db.scalars(gone.execution_options(synchronize_session=False)))


def stored(db: Session) -> set[str]:
    """Return the hashes of all snapshots."""
    return set(db.scalars(select(Snapshot.hash)))


def of_open_runs(db: Session) -> set[str]:
    """Return the hashes of the snapshots whose tree a run may still need."""
    return set(db.scalars(select(Run.code).where(Run.code.is_not(None), Run.state.in_(OPEN)).distinct()))
