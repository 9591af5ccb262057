"""What differs between many runs: the fields of their specs, from the rows of fields alone."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from store.run_table.columns import plain
from store.run_table.leaves import ABSENT, Leaf, Leaves
from store.tables.experiments import ExperimentField
from store.tables.points import Figure
from store.tables.runs import Run, RunField


class Choices(NamedTuple):
    """A field with several values, and which of them each run has."""

    path: str
    values: list[float | int | str | bool | None]
    places: list[int]


def fields_of_runs(db: Session, runs: Sequence[Run]) -> list[Leaves]:
    """Return the fields of each run's spec, with two statements for all runs."""
    bases = _by_owner(db, ExperimentField, {run.experiment_id for run in runs})
    own = _by_owner(db, RunField, {run.id for run in runs})
    found = [bases.get(run.experiment_id, {}) | own.get(run.id, {}) for run in runs]
    return [{path: leaf for path, leaf in each.items() if leaf != ABSENT} for each in found]


def metrics_of_runs(db: Session, run_ids: Sequence[int]) -> dict[str, int]:
    """Return the names of the metrics of runs, each with the number of runs that have it."""
    query = select(Figure.name, func.count()).where(Figure.run_id.in_(run_ids)).group_by(Figure.name)
    return {row[0]: row[1] for row in db.execute(query)}


def different_fields(found: Sequence[Leaves | None]) -> list[Choices]:
    """Return the fields that not all documents have alike, in alphabetical order.

    A document that is not known (None) makes no difference, and has no value anywhere.
    """
    known = [each for each in found if each is not None]
    paths = sorted({path for each in known for path in each})
    different = [path for path in paths if len({each.get(path, ABSENT) for each in known}) > 1]
    return [_choices(path, [(each or {}).get(path, ABSENT) for each in found]) for path in different]


def _choices(path: str, own: Sequence[Leaf]) -> Choices:
    values = sorted(set(own), key=_order)
    place = {leaf: number for number, leaf in enumerate(values)}
    shown = [leaf.text if leaf.number is None else plain(leaf.number) for leaf in values]
    return Choices(path, shown, [place[leaf] for leaf in own])


def _order(leaf: Leaf) -> tuple[bool, float, bool, str]:
    """Numbers come first, then texts, then no value."""
    return leaf.number is None, leaf.number or 0.0, leaf.text is None, leaf.text or ""


def _by_owner(db: Session, table: type[ExperimentField] | type[RunField], ids: set[int]) -> Mapping[int, Leaves]:
    owner = ExperimentField.experiment_id if table is ExperimentField else RunField.run_id
    found: dict[int, Leaves] = {}
    for row in db.execute(select(owner, table.path, table.number, table.text).where(owner.in_(sorted(ids)))):
        found.setdefault(row[0], {})[row.path] = Leaf(row.number, row.text)
    return found
