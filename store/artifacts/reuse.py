"""Runs that ask for a finished run's result: which wait, what they may take, and the taking itself."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import RemovalCause
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from store import changes, transitions
from store.artifacts.artifacts import OUTPUTS, Output, mark_removed, outputs_of
from store.artifacts.copies import copy_results
from store.locks import lock_runs
from store.metrics.objectives import copy_values
from store.tables.artifacts import Artifact
from store.tables.runs import Run

MAX_CANDIDATES = 10  # of one key
# runs whose result may be taken: carried out here, done, with all their points
MAY_GIVE = (
    Run.state == State.DONE,
    Run.taken_from.is_(None),
    Run.deleted_at.is_(None),
    Run.points_removed_at.is_(None),
)


class WaitingRun(NamedTuple):
    """A queued run that asks for a finished run's result, or whose inputs must be hashed."""

    id: int
    spec: dict[str, Any]
    reuse: Reuse


class Candidate(NamedTuple):
    """A finished run with the same key, and its outputs that are there as far as the database knows."""

    id: int
    outputs: tuple[Output, ...]


class Checked(NamedTuple):
    """What the tick has found about a waiting run."""

    run_id: int
    key: str | None  # None: its code or an input is not known
    inputs: Mapping[str, str]  # hashes, by name
    source: int | None = None  # the finished run whose result it takes
    outputs: int = 0  # how many the run has


class OutputsRemovedError(RuntimeError):
    """The outputs of a source have been removed since they were looked at."""


def waiting(db: Session, limit: int) -> list[WaitingRun]:
    """Return the runs that wait for the tick `reuse`, oldest first."""
    mine = (Run.reuse.in_([Reuse.WANTED, Reuse.FORCED]), Run.state == State.QUEUED, Run.stop_requested_at.is_(None))
    query = select(Run.id, Run.spec, Run.reuse).where(*mine).order_by(Run.id).limit(limit)
    return [WaitingRun._make(row) for row in db.execute(query)]


def candidates(db: Session, keys: Collection[str]) -> dict[str, list[Candidate]]:
    """Return the finished runs with each of these keys whose outputs may be taken, the newest first."""
    newest = func.row_number().over(partition_by=Run.reuse_key, order_by=Run.id.desc()).label("place")
    every = select(Run.id, Run.reuse_key, newest).where(Run.reuse_key.in_(keys), *MAY_GIVE).subquery()
    query = select(every.c.id, every.c.reuse_key).where(every.c.place <= MAX_CANDIDATES).order_by(every.c.id.desc())
    rows = db.execute(query).all()
    outputs = outputs_of(db, [row.id for row in rows])
    found: dict[str, list[Candidate]] = {}
    for row in rows:
        found.setdefault(row.reuse_key, []).append(Candidate(row.id, tuple(outputs.get(row.id, {}).values())))
    return found


def mark_absent(db: Session, output: Output) -> None:
    """Mark an output whose file is not there with the stored size: nothing is taken from it any more."""
    mark_removed(db, RemovalCause.ABSENT, Artifact.holder_id == output.holder_id, Artifact.path == output.path)


def mark_checked(db: Session, found: Sequence[Checked]) -> None:
    """Let runs be carried out: no finished run equals them, or the client wants them carried out."""
    waits = Run.reuse.in_([Reuse.WANTED, Reuse.FORCED])
    ids = set(lock_runs(db, Run.id.in_([one.run_id for one in found]), waits))
    if rows := [{"id": one.run_id, **_columns(one)} for one in found if one.run_id in ids]:
        db.execute(update(Run), rows)
        changes.record_runs(db, ids)


def take_results(db: Session, found: Sequence[Checked]) -> set[int]:
    """Give queued runs the curves, figures and artifacts of their sources, and make them done; return their ids.

    A run that has changed meanwhile, or whose source has, is left out; nothing is done about it. Raise
    OutputsRemovedError if a source has lost outputs.
    """
    by_id = {one.run_id: one for one in found if one.source is not None}
    waits = (Run.state == State.QUEUED, Run.reuse == Reuse.WANTED, Run.stop_requested_at.is_(None))
    sources = {one.source for one in by_id.values()}
    locked = set(lock_runs(db, or_(and_(Run.id.in_(by_id), *waits), and_(Run.id.in_(sources), *MAY_GIVE))))
    names = ("latest", "step")
    columns = (Run.id, Run.reuse_key, *(getattr(Run, name) for name in names))
    query = select(*columns).where(Run.id.in_(sources & locked))
    given = {row.id: row for row in db.execute(query)}
    rows = {
        run_id: {**_columns(one), "taken_from": one.source, **dict(zip(names, source[2:], strict=True))}
        for run_id, one in by_id.items()
        if run_id in locked and (source := given.get(one.source)) is not None and source.reuse_key == one.key
    }
    if rows:
        transitions.end_with_results(db, rows)
        copy_results(db, rows, OUTPUTS)
        copy_values(db, rows)
        _must_have_outputs(db, [by_id[run_id] for run_id in rows])
        changes.record_points(db, rows)
    return set(rows)


def _must_have_outputs(db: Session, taken: Sequence[Checked]) -> None:
    """Raise OutputsRemovedError unless each run has all of its outputs."""
    found = outputs_of(db, [one.run_id for one in taken])
    for one in taken:
        if len(found.get(one.run_id, {})) < one.outputs:
            raise OutputsRemovedError(f"outputs of run {one.source} have been removed")


def _columns(one: Checked) -> dict[str, Any]:
    return {"reuse": Reuse.CHECKED, "reuse_key": one.key, "input_hashes": dict(one.inputs) or None}
