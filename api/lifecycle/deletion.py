"""Deletion: the size of what would be removed, the removal, which a text must confirm, and its undo."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from api.database import Reading, Writing
from api.errors import Conflict, Invalid
from api.http.statuses import CHANGE, ITEM, LIST
from api.parameters import MAX_INTEGER, NO_NUL, Confirm, ExperimentId, Limit, RunId
from api.rows import found_experiment, found_run, see_experiment
from contract.api.lifecycle import Deleted, DeletionPage, DeletionView, Restored, StoredSize
from contract.folder.files.whole_folder import measure_folder
from contract.folder.run_folder import RunFolder
from contract.validation import ValidationIssue
from store.lifecycle import deletion, undo
from store.session import snapshot
from store.steps.progress import count_open
from store.tables.experiments import Experiment
from store.tables.runs import Run

router = APIRouter()
MEASURED_S = 1.0  # a person waits for the answer
After = Annotated[
    str | None,
    Query(
        max_length=100,
        pattern=NO_NUL,
        description="`next` of the page before: the page begins behind it, also if that was restored meanwhile.",
        examples=["2026-11-23T08:00:00Z,run,42"],
    ),
]


@router.get("/experiments/{experiment_id:id}/size", tags=["experiments"], responses=ITEM)
def get_experiment_size(experiment_id: ExperimentId, request: Request) -> StoredSize:
    """Return what a deletion of the experiment would remove, and the text that confirms the deletion."""
    with snapshot(request.app.state.engine) as db:
        confirm = found_experiment(db, experiment_id).name
    return _size(request, Run.experiment_id == experiment_id, confirm)


@router.get("/runs/{run_id:id}/size", tags=["runs"], responses=ITEM)
def get_run_size(run_id: RunId, request: Request) -> StoredSize:
    """Return what a deletion of the run would remove, and the text that confirms the deletion."""
    with snapshot(request.app.state.engine) as db:
        confirm = _folder(request, found_run(db, run_id)).path.name
    return _size(request, Run.id == run_id, confirm)


@router.delete("/experiments/{experiment_id:id}", tags=["experiments"], responses=CHANGE)
def delete_experiment(experiment_id: ExperimentId, request: Request, db: Writing, confirm: Confirm = None) -> Deleted:
    """Delete an experiment whose runs have all ended, with its files; `confirm` must be its name."""
    if deletion.was_deleted(db, Experiment, experiment_id):
        return _deleted(db, Experiment, experiment_id, 0)
    experiment = found_experiment(db, experiment_id)
    _refuse_unended(deletion.unended(db, Run.experiment_id == experiment_id))
    if open_steps := count_open(db, [experiment_id]).get(experiment_id):
        raise Conflict(f"{open_steps} steps of experiment {experiment_id} have not ended: stop the experiment first")
    _check(confirm, experiment.name, f"/experiments/{experiment_id}/size")
    return _deleted(db, Experiment, experiment_id, deletion.mark_experiment(db, experiment_id, _undo(request)))


@router.delete("/runs/{run_id:id}", tags=["runs"], responses=CHANGE)
def delete_run(run_id: RunId, request: Request, db: Writing, confirm: Confirm = None) -> Deleted:
    """Delete a run that has ended, with its files; `confirm` must be the name of its folder."""
    if deletion.was_deleted(db, Run, run_id):
        return _deleted(db, Run, run_id, 0)
    run = found_run(db, run_id)
    _refuse_unended(deletion.unended(db, Run.id == run_id))
    _check(confirm, _folder(request, run).path.name, f"/runs/{run_id}/size")
    return _deleted(db, Run, run_id, deletion.mark_runs(db, Run.id == run_id, _undo(request)))


@router.post("/experiments/{experiment_id:id}/restore", tags=["experiments"], responses=CHANGE)
def post_experiment_restore(experiment_id: ExperimentId, db: Writing) -> Restored:
    """Undo the deletion of an experiment and of the runs that went with it."""
    if not deletion.was_deleted(db, Experiment, experiment_id):
        see_experiment(db, experiment_id)
    return _restored(lambda: undo.restore_experiment(db, experiment_id))


@router.post("/runs/{run_id:id}/restore", tags=["runs"], responses=CHANGE)
def post_run_restore(run_id: RunId, db: Writing) -> Restored:
    """Undo the deletion of a run."""
    if not deletion.was_deleted(db, Run, run_id):
        found_run(db, run_id)
    return _restored(lambda: undo.restore_run(db, run_id))


@router.get("/deletions", tags=["experiments"], responses=LIST)
def list_deletions(db: Reading, after: After = None, limit: Limit = 50) -> DeletionPage:
    """Return the deletions that can be undone, the newest first; `after=next` gives the next page."""
    found = undo.deletions(db, None if after is None else _place(after), limit + 1)
    items = [DeletionView(**one._asdict()) for one in found[:limit]]
    return DeletionPage(items=items, next=_place_of(items[-1]) if len(found) > limit else None)


def _place_of(last: DeletionView) -> str:
    return f"{last.deleted_at.isoformat().replace('+00:00', 'Z')},{last.kind},{last.id}"


def _place(text: str) -> undo.Place:
    try:
        at, kind, number = text.split(",")
        place = undo.Place(datetime.fromisoformat(at), kind, int(number))
        if place.at.tzinfo is None or not 0 <= place.id <= MAX_INTEGER:
            raise ValueError
    except ValueError as error:
        issue = ValidationIssue(path="after", message="expected `next` of a page of this list")
        raise Invalid("the page is not valid", [issue]) from error
    return place


def _undo(request: Request) -> timedelta:
    hours: int = request.app.state.settings.delete_hours
    return timedelta(hours=hours)


def _deleted(db: Session, table: type[Experiment] | type[Run], row_id: int, runs: int) -> Deleted:
    until = db.scalar(select(table.restorable_until).where(table.id == row_id))
    return Deleted(runs=runs, restorable_until=until)


def _restored(restore: Callable[[], int]) -> Restored:
    try:
        return Restored(runs=restore())
    except undo.NotRestorableError as error:
        raise Conflict(f"nothing was restored: {error}") from error


def _size(request: Request, which: ColumnElement[bool], confirm: str) -> StoredSize:
    with snapshot(request.app.state.engine) as db:
        rows = db.execute(select(Run.id, Run.key).where(which, Run.deleted_at.is_(None)).order_by(Run.id)).all()
        blocked_by = deletion.unended(db, which)
    # the file system may be slow, and no transaction waits for it
    until = time.monotonic() + MEASURED_S
    root = request.app.state.settings.runs_folder()
    sizes = []
    for row in rows:
        sizes.append(measure_folder(RunFolder.of(root, row.id, row.key).path, until))
        if time.monotonic() >= until:
            break
    return StoredSize(
        runs=len(rows),
        size_bytes=sum(one.size_bytes for one in sizes),
        files=sum(one.files for one in sizes),
        is_complete=len(sizes) == len(rows) and all(one.is_complete for one in sizes),
        undo_hours=request.app.state.settings.delete_hours,
        confirm=confirm,
        blocked_by=blocked_by,
    )


def _folder(request: Request, run: Run) -> RunFolder:
    return RunFolder.of(request.app.state.settings.runs_folder(), run.id, run.key)


def _refuse_unended(run_ids: Sequence[int]) -> None:
    if run_ids:
        several = ", ".join(map(str, run_ids[:5])) + (" and others" if len(run_ids) > 5 else "")
        raise Conflict(f"only what has ended can be deleted: stop these runs first: {several}")


def _check(confirm: str | None, expected: str, path: str) -> None:
    """Raise Conflict unless the request repeats the text that the size has as `confirm`."""
    if confirm is None:
        raise Conflict(f"nothing was deleted: GET {path} says what a deletion removes; then send its `confirm`")
    if confirm != expected:
        raise Conflict("nothing was deleted: `confirm` is another text than that of the size")
