"""The weights with which trials of a population begin: checkpoints of earlier ones, found outside any transaction."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from contract.folder.stored_checkpoints import newest_checkpoint
from scheduler.context import Context
from scheduler.search.read import StoredSearch
from store.holders import Holder, holders_of
from store.session import snapshot
from store.tables.runs import Run
from study.search.trials import Asked

Weights = dict[str, Any] | str  # the field `initial_weights` of a run, or why it cannot have it


def parent_weights(context: Context, stored: StoredSearch, asked: Sequence[Asked]) -> dict[int, Weights]:
    """Return by the number of a new trial the weights of its parent; a trial without a parent is left out."""
    parents = {one.number: one.memory.get("parent") for one in asked}
    first_run = {trial.number: trial.first_run for trial in stored.trials}
    wanted = {number: first_run[parent] for number, parent in parents.items() if parent is not None}
    if not wanted:
        return {}
    query = select(Run.number, Run.id).where(Run.experiment_id == stored.row.experiment_id)
    with snapshot(context.engine) as db:
        ids = {row[0]: row[1] for row in db.execute(query.where(Run.number.in_(wanted.values())))}
        holders = holders_of(db, ids.values())
    found: dict[int, Weights] = {}
    for number, run_number in wanted.items():
        run_id = ids.get(run_number, 0)
        holder = holders.get(run_id)
        found[number] = "the run whose weights it copies is deleted" if holder is None else _of(context, run_id, holder)
    return found


def _of(context: Context, run_id: int, holder: Holder) -> Weights:
    folder = context.folder_of(holder).path
    checkpoint = newest_checkpoint(folder)
    if checkpoint is None:
        return f"run {run_id}, whose weights it copies, has no checkpoint any more"
    return {"run": run_id, "folder": str(folder), "checkpoint": checkpoint.name}
