"""The fields of specs as rows, so that a filter or an order of runs reads no spec.

The fields of an experiment's base run are rows of the experiment. A run has rows for those fields alone in which it
differs, so an experiment of ten thousand runs has few rows more than its axes have values.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from store.run_table.leaves import Leaf, Leaves, different_leaves, leaves
from store.tables.experiments import Experiment, ExperimentField
from store.tables.runs import Run, RunField


def add_experiment_fields(db: Session, experiment: Experiment) -> None:
    """Store the fields of a new experiment's base run."""
    _insert(db, ExperimentField, "experiment_id", [(experiment.id, leaves(base_of(experiment)))])


def add_run_fields(db: Session, base: Mapping[str, Any], specs: Mapping[int, Mapping[str, Any]]) -> None:
    """Store the fields in which new runs, by their ids, differ from their experiment's base run."""
    _insert(db, RunField, "run_id", [(run_id, different_leaves(spec, base)) for run_id, spec in specs.items()])


def replace_run_fields(db: Session, run: Run) -> None:
    """Store the fields of a run whose spec has changed."""
    remove_run_fields(db, run.id)
    add_run_fields(db, base_of(db.get_one(Experiment, run.experiment_id)), {run.id: run.spec})


def remove_run_fields(db: Session, run_id: int) -> None:
    """Remove the fields of a run."""
    db.execute(delete(RunField).where(RunField.run_id == run_id))


def remove_experiment_fields(db: Session, experiment_ids: Sequence[int]) -> None:
    """Remove the fields of experiments."""
    db.execute(delete(ExperimentField).where(ExperimentField.experiment_id.in_(experiment_ids)))


def base_of(experiment: Experiment) -> Mapping[str, Any]:
    """Return the base run of an experiment's spec; of a workflow the run that stands for it."""
    base: Mapping[str, Any] = experiment.table_base or experiment.spec.get("base") or {}
    return base


def _insert(
    db: Session, table: type[ExperimentField] | type[RunField], key: str, found: Iterable[tuple[int, Leaves]]
) -> None:
    rows = [_row(key, owner, path, leaf) for owner, own in found for path, leaf in own.items()]
    if rows:
        # with nulls as they are all rows share a statement; without, each change between numbers and texts begins one
        db.execute(insert(table).execution_options(render_nulls=True), rows)


def _row(key: str, owner: int, path: str, leaf: Leaf) -> dict[str, Any]:
    return {key: owner, "path": path, "number": leaf.number, "text": leaf.text}
