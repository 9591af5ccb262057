"""The states of copies: what is due, who has it, and what came of it.

A worker claims a copy for a time and renews the claim while it works. Each change of a claimed copy names the number of
the claim, so a worker that lost its claim changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import ArtifactKind, CopyState
from store import changes
from store.mirror.outages import wait_after
from store.tables.artifacts import Artifact
from store.tables.base import now
from store.tables.mirror import IS_OPEN, MirrorCopy
from store.tables.runs import Run

CLAIM = timedelta(seconds=120)  # after which another worker takes over: a try of the store's library ends before
MAX_FAULTS = 5  # of the files: a shared file system may show a file late
Key = tuple[int, int, str]  # the run, the attempt and the name


class DueCopy(NamedTuple):
    """A copy that a worker may claim."""

    run_id: int
    attempt: int
    name: str
    state: CopyState
    claims: int
    faults: int
    place: str | None  # in the object store
    run_key: str | None  # None: of a removed run
    kind: ArtifactKind | None
    path: str | None
    size_bytes: int | None
    sha256: str | None

    @property
    def key(self) -> Key:
        """The primary key."""
        return self.run_id, self.attempt, self.name


class Claim(NamedTuple):
    """A copy that this worker has until its claim expires."""

    key: Key
    state: CopyState
    number: int


class StoredCopy(NamedTuple):
    """A copy that is complete."""

    store: str
    place: str
    manifest_sha256: str


def insert_waiting(db: Session, run_id: int, attempt: int, names: Sequence[str]) -> None:
    """Store that artifacts wait for a copy, in the transaction that stores the artifacts."""
    first = {"state": CopyState.WAITING, "claims": 0, "faults": 0}
    rows = [{"run_id": run_id, "attempt": attempt, "name": name, "due_at": now(), **first} for name in names]
    if rows:
        db.execute(insert(MirrorCopy), rows)


def due(db: Session, url: str, limit: int) -> list[DueCopy]:
    """Return copies that wait, or are to be removed from this store, the longest due first."""
    here = or_(MirrorCopy.state == CopyState.WAITING, MirrorCopy.store == url)
    is_due = (IS_OPEN, MirrorCopy.due_at <= now(), here)
    copy = select(MirrorCopy).where(*is_due).order_by(MirrorCopy.due_at).limit(limit).subquery().c
    own = (copy.run_id, copy.attempt, copy.name, copy.state, copy.claims, copy.faults, copy.place, Run.key)
    query = (
        select(*own, Artifact.kind, Artifact.path, Artifact.size_bytes, Artifact.sha256)
        .outerjoin(Run, Run.id == copy.run_id)
        .outerjoin(
            Artifact,
            (Artifact.run_id == copy.run_id) & (Artifact.attempt == copy.attempt) & (Artifact.name == copy.name),
        )
    )
    return [DueCopy._make(row) for row in db.execute(query.order_by(copy.due_at))]


def claim(db: Session, copy: DueCopy, url: str, place: str) -> Claim | None:
    """Claim a copy as it was read; return None if another worker was faster or its state has changed."""
    mine = (*_is(copy.key), MirrorCopy.state == copy.state, MirrorCopy.claims == copy.claims)
    values = {"claims": copy.claims + 1, "due_at": now() + CLAIM, "store": url, "place": place}
    changed = db.execute(update(MirrorCopy).where(*mine).values(values).returning(MirrorCopy.claims)).scalar()
    return None if changed is None else Claim(copy.key, copy.state, changed)


def renew(db: Session, claim: Claim) -> bool:
    """Renew a claim; return False if it is lost."""
    return _set(db, claim, due_at=now() + CLAIM)


def finish(db: Session, claim: Claim, manifest_sha256: str) -> bool:
    """Store that a copy is complete and was read back; return False if the claim is lost."""
    done = {"state": CopyState.MIRRORED, "copied_at": now(), "manifest_sha256": manifest_sha256}
    return _set(db, claim, **done, problem=None, faults=0, due_at=now())


def postpone(db: Session, claim: Claim, problem: str) -> bool:
    """Store that the object store failed; the copy waits, and the others go first."""
    return _set(db, claim, due_at=now() + wait_after(claim.number - 1), problem=problem)


def count_fault(db: Session, claim: Claim, faults: int, problem: str) -> bool:
    """Store that the files could not be copied: the copy waits, or is given up after the last of several tries."""
    if faults + 1 < MAX_FAULTS:
        return _set(db, claim, due_at=now() + wait_after(faults), faults=faults + 1, problem=problem)
    return _set(db, claim, state=CopyState.FAULTY, faults=faults + 1, problem=problem, due_at=now())


def forget(db: Session, claim: Claim) -> None:
    """Remove the row of a copy whose objects are removed."""
    db.execute(delete(MirrorCopy).where(*_is(claim.key), MirrorCopy.claims == claim.number))


def is_known(db: Session, key: Key) -> bool:
    """Return whether the copy has a row: if not, its objects are removed, or are to be."""
    return db.scalar(select(MirrorCopy.run_id).where(*_is(key))) is not None


def request_removal(db: Session, *which: ColumnElement[bool]) -> None:
    """Let the objects of copies be removed, in the transaction that removes their artifacts.

    A worker that copies one meanwhile loses its claim, and the removal waits until the claim has expired.
    """
    not_begun = delete(MirrorCopy).where(*which, MirrorCopy.store.is_(None))
    db.execute(not_begun.execution_options(synchronize_session=False))
    gone = {"state": CopyState.REMOVING, "problem": None}
    change = update(MirrorCopy).where(*which, MirrorCopy.state != CopyState.REMOVING).values(gone)
    db.execute(change.execution_options(synchronize_session=False))


def of_artifacts(db: Session, run_ids: Collection[int]) -> dict[Key, MirrorCopy]:
    """Return the copies of the artifacts of runs, by their keys."""
    found = db.scalars(select(MirrorCopy).where(MirrorCopy.run_id.in_(run_ids)))
    return {(row.run_id, row.attempt, row.name): row for row in found}


def of_artifact(found: Mapping[Key, MirrorCopy], artifact: Artifact) -> MirrorCopy | None:
    """Return the copy of an artifact among those of the run in whose folder it is."""
    if artifact.run_id == artifact.holder_id:
        return found.get((artifact.run_id, artifact.attempt, artifact.name))
    keys = [key for key in found if (key[0], key[2]) == (artifact.holder_id, artifact.name)]
    return found[max(keys)] if keys else None  # it was taken from the newest attempt


def find_complete(db: Session, holder_id: int, path: str) -> StoredCopy | None:
    """Return the complete copy of what is at a path in the folder of a run; None without any."""
    query = (
        select(MirrorCopy.store, MirrorCopy.place, MirrorCopy.manifest_sha256)
        .join(
            Artifact,
            (Artifact.run_id == MirrorCopy.run_id)
            & (Artifact.attempt == MirrorCopy.attempt)
            & (Artifact.name == MirrorCopy.name),
        )
        .where(MirrorCopy.run_id == holder_id, MirrorCopy.state == CopyState.MIRRORED)
        .where(Artifact.path == path, Artifact.removed_at.is_(None))
    )
    row = db.execute(query.limit(1)).one_or_none()
    return None if row is None else StoredCopy._make(row)


def _set(db: Session, claim: Claim, **values: object) -> bool:
    mine = (*_is(claim.key), MirrorCopy.state == claim.state, MirrorCopy.claims == claim.number)
    found = db.execute(update(MirrorCopy).where(*mine).values(values).returning(MirrorCopy.run_id)).scalar()
    if found is not None and values.keys() - {"due_at"}:
        changes.record_runs(db, [claim.key[0]])
    return found is not None


def _is(key: Key) -> tuple[ColumnElement[bool], ...]:
    return MirrorCopy.run_id == key[0], MirrorCopy.attempt == key[1], MirrorCopy.name == key[2]
