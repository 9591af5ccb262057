"""Ended runs that go on: retried, or extended by epochs. They are queued again as the same run."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.reason import ExtensionRequested, RetryRequested
from contract.lifecycle.state import State
from contract.lifecycle.step import StepGoesOn
from contract.reuse.key import reuse_key
from contract.spec.any_run import AnyRun, read_run
from store import runs, transitions
from store.artifacts.contents import with_hashes
from store.lifecycle.new_runs import need_of
from store.locks import lock_runs
from store.steps.transitions import go_on
from store.tables.runs import IS_CURRENT, Job, Run


class RetriedRuns(NamedTuple):
    """The runs of a request for a retry, by their ids."""

    queued: list[int]
    waiting: list[int]  # those of `queued` whose last job has not been seen to end
    unchanged: list[tuple[int, State]]


def retry(
    db: Session, which: ColumnElement[bool], states: Sequence[State], *, by: str | None, accept_new_data: bool = False
) -> RetriedRuns:
    """Queue the runs of `which` that ended in any of `states` as their next attempt; leave the others as they are.

    `accept_new_data`: runs of the engine may go on with other data than their checkpoints had.
    """
    mine = (which, Run.deleted_at.is_(None))
    locked = lock_runs(db, *mine, Run.state.in_(states))
    chosen = Run.id.in_(locked)
    rows = db.execute(select(Run.id, Run.state, Run.points_removed_at).where(chosen)).all()
    for state in states:
        for removed in (False, True):
            ids = [row.id for row in rows if row.state is state and (row.points_removed_at is not None) is removed]
            transitions.queue_ended(db, ids, state, RetryRequested(by=by, points_removed=removed))
    if accept_new_data:
        _accept_new_data(db, locked)
    _forget_exclusions(db, locked)
    go_on(db, locked, StepGoesOn(by=by))
    open_jobs = select(Run.id).join(Job, IS_CURRENT).where(chosen, *runs.IS_OPEN).order_by(Run.id)
    others = select(Run.id, Run.state).where(*mine, ~chosen).order_by(Run.id)
    return RetriedRuns(locked, list(db.scalars(open_jobs)), [(row[0], row[1]) for row in db.execute(others)])


def extend(db: Session, run: Run, spec: AnyRun, epochs: int, *, by: str | None) -> None:
    """Queue a locked run that is done with a spec of `epochs` epochs."""
    removed = run.points_removed_at is not None
    reason = ExtensionRequested(by=by, points_removed=removed, epochs=epochs)
    document = spec.model_dump(mode="json")
    (hashed,) = with_hashes(db, [document])
    columns = {"steps": spec.steps, "reuse_key": reuse_key(spec, run.input_hashes or {}, hashed)}
    transitions.queue_ended(db, [run.id], State.DONE, reason, columns)
    runs.change_spec(db, run.id, document)
    _forget_exclusions(db, [run.id])
    go_on(db, [run.id], StepGoesOn(by=by))


def _accept_new_data(db: Session, run_ids: Sequence[int]) -> None:
    for run in db.scalars(select(Run).where(Run.id.in_(run_ids))):
        if changed := read_run(run.spec).new_data_fields():
            runs.change_spec(db, run.id, {**run.spec, **changed})
            run.reuse_key = None  # its result is no longer that of its spec alone


def _forget_exclusions(db: Session, run_ids: Sequence[int]) -> None:
    """Let the next attempts use the hosts again that earlier attempts excluded."""
    rows = db.execute(select(Run.id, Run.spec, Run.excluded).where(Run.id.in_(run_ids))).all()
    changes = [{"id": row.id, "excluded": [], "need": need_of(read_run(row.spec), [])} for row in rows if row.excluded]
    if changes:
        db.execute(update(Run), changes)
