"""Artifacts in the database: stored with the end of their run, listed, and found by what needs their files."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.orm import Session

from contract.folder.outputs.record import RecordedArtifact
from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from store import changes
from store.mirror import copies
from store.tables.artifacts import HAS_RETENTION, Artifact
from store.tables.base import now
from store.tables.mirror import MirrorCopy
from store.tables.runs import Run

OUTPUTS = (ArtifactKind.FILE, ArtifactKind.FOLDER)


class Output(NamedTuple):
    """An output that is there: its file or folder is `path` in the folder of the run `holder_id`."""

    run_id: int
    name: str
    kind: ArtifactKind
    path: str
    size_bytes: int
    files: int
    sha256: str
    holder_id: int
    holder_key: str


def insert_artifacts(
    db: Session, run_id: int, attempt: int, found: Sequence[RecordedArtifact], *, has_retention: bool = False
) -> None:
    """Store the artifacts of an attempt, in the transaction in which its run is done.

    The artifacts of earlier attempts were in the same folder: they are replaced, or a later checkpoint removed them.
    """
    earlier = (Artifact.run_id == run_id, Artifact.attempt < attempt, Artifact.removed_at.is_(None))
    mark_removed(db, RemovalCause.REPLACED, *earlier)
    if found:
        common = {"run_id": run_id, "attempt": attempt, "holder_id": run_id}
        rows = [{**common, **dict(one), "has_retention": has_retention and one.kind in OUTPUTS} for one in found]
        db.execute(insert(Artifact), rows)
        copies.insert_waiting(db, run_id, attempt, [one.name for one in found])
        changes.record_runs(db, [run_id])


def of_run(db: Session, run_id: int) -> Sequence[Artifact]:
    """Return the artifacts of a run, those of its newest attempt first, then by name; removed ones too."""
    query = select(Artifact).where(Artifact.run_id == run_id)
    return db.scalars(query.order_by(Artifact.attempt.desc(), Artifact.name)).all()


def outputs_of(db: Session, run_ids: Collection[int]) -> dict[int, dict[str, Output]]:
    """Return the outputs that are there, by run and by name; a run without any has no entry.

    Whether the files still have the stored size is for the caller to see, outside the transaction.
    """
    columns = (*(Artifact.run_id, Artifact.name, Artifact.kind, Artifact.path, Artifact.size_bytes),)
    query = (
        select(*columns, Artifact.files, Artifact.sha256, Artifact.holder_id, Run.key)
        .join(Run, Run.id == Artifact.holder_id)
        .where(Artifact.run_id.in_(run_ids), Artifact.removed_at.is_(None), Artifact.kind.in_(OUTPUTS))
        .order_by(Artifact.run_id, Artifact.name)
    )
    found: dict[int, dict[str, Output]] = defaultdict(dict)
    for row in db.execute(query):
        found[row.run_id][row.name] = Output._make(row)
    return dict(found)


def mark_removed(db: Session, because: RemovalCause, *which: ColumnElement[bool]) -> None:
    """Mark artifacts as removed: they stay listed, with the reason and the moment. Their copies go as well.

    Where `keep` is the reason, their files are removed after that, and `mark_files_removed` follows.
    """
    which = (*which, Artifact.removed_at.is_(None))
    rows = db.execute(select(Artifact.run_id, Artifact.attempt, Artifact.name).where(*which)).all()
    run_ids = {row.run_id for row in rows}
    if not rows:
        return
    for run_id, attempt in {(row.run_id, row.attempt) for row in rows}:
        names = [row.name for row in rows if (row.run_id, row.attempt) == (run_id, attempt)]
        mine = (MirrorCopy.run_id == run_id, MirrorCopy.attempt == attempt, MirrorCopy.name.in_(names))
        copies.request_removal(db, *mine)
    change = update(Artifact).where(*which).values(removed_at=now(), removed_because=because)
    if because is not RemovalCause.RETENTION:  # the files are gone already, or go with the run's folder
        change = change.values(has_retention=False)
    db.execute(change.execution_options(synchronize_session=False))
    changes.record_runs(db, run_ids)


def mark_files_removed(db: Session, run_id: int) -> None:
    """Store that the files of a run's removed outputs are gone."""
    mine = (Artifact.run_id == run_id, Artifact.removed_at.is_not(None), HAS_RETENTION)
    db.execute(update(Artifact).where(*mine).values(has_retention=False).execution_options(synchronize_session=False))
