"""Tags of experiments and runs: read, changed, and the conditions by which lists find them."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, insert, select
from sqlalchemy.orm import Session

from store.tables.experiments import Experiment, ExperimentTag
from store.tables.runs import Run, RunTag


def of_experiments(db: Session, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the tags of each experiment, in the order of code points, with one query."""
    rows = db.execute(
        select(ExperimentTag.experiment_id, ExperimentTag.tag).where(ExperimentTag.experiment_id.in_(ids))
    )
    return _by_id([(row[0], row[1]) for row in rows])


def of_runs(db: Session, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the tags of each run, in the order of code points, with one query."""
    rows = db.execute(select(RunTag.run_id, RunTag.tag).where(RunTag.run_id.in_(ids)))
    return _by_id([(row[0], row[1]) for row in rows])


def store_experiment_tags(db: Session, experiment_id: int, *, present: Sequence[str], wanted: Sequence[str]) -> None:
    """Change the tags of a locked experiment from `present` to `wanted`."""
    mine = ExperimentTag.experiment_id == experiment_id
    if gone := set(present) - set(wanted):
        db.execute(delete(ExperimentTag).where(mine, ExperimentTag.tag.in_(gone)))
    if new := sorted(set(wanted) - set(present)):
        db.execute(insert(ExperimentTag), [{"experiment_id": experiment_id, "tag": tag} for tag in new])


def store_run_tags(db: Session, run_id: int, *, present: Sequence[str], wanted: Sequence[str]) -> None:
    """Change the tags of a locked run from `present` to `wanted`."""
    if gone := set(present) - set(wanted):
        db.execute(delete(RunTag).where(RunTag.run_id == run_id, RunTag.tag.in_(gone)))
    if new := sorted(set(wanted) - set(present)):
        db.execute(insert(RunTag), [{"run_id": run_id, "tag": tag} for tag in new])


def experiments_with(tag: str) -> ColumnElement[bool]:
    """Return the condition for experiments with a tag."""
    return Experiment.id.in_(select(ExperimentTag.experiment_id).where(ExperimentTag.tag == tag))


def runs_with(tag: str) -> ColumnElement[bool]:
    """Return the condition for runs with a tag."""
    return Run.id.in_(select(RunTag.run_id).where(RunTag.tag == tag))


def _by_id(rows: Sequence[tuple[int, str]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for row_id, tag in sorted(rows):
        found[row_id].append(tag)
    return found
