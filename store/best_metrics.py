"""The best value over an experiment's runs of the metric that says how good they are, for lists.

It is that of programs, whose metrics have any names: runs of the engine have their best held-out accuracy.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.metric_direction import Direction, direction_of
from store.metrics.figures import Figure
from store.tables import Run


class BestMetric(NamedTuple):
    """A metric, and its best value over the runs of an experiment."""

    name: str
    value: float


def choose_metric(names: Sequence[str]) -> str | None:
    """Return the metric by which runs are judged; None if no name says which values are good.

    One of which high values are good is before a loss, and one of held-out data before that of the training.
    """
    ranked = [((direction_of(name) is not Direction.HIGHER, _is_of_training(name)), name) for name in names]
    known = [one for one in ranked if direction_of(one[1]) is not Direction.UNKNOWN]
    return min(known, key=lambda one: one[0])[1] if known else None


def best_metrics(db: Session, series: Mapping[int, Sequence[str]]) -> dict[int, BestMetric]:
    """Return the best value of each experiment's metric, by the names of its series; no entry without a value."""
    chosen = {id_: name for id_, names in series.items() if (name := choose_metric(names))}
    if not chosen:
        return {}
    query = (
        select(Run.experiment_id, Figure.name, func.min(Figure.least), func.max(Figure.most))
        .join(Figure, Figure.run_id == Run.id)
        .where(Run.experiment_id.in_(chosen), Run.deleted_at.is_(None), Figure.name.in_(set(chosen.values())))
        .group_by(Run.experiment_id, Figure.name)
    )
    found = {}
    for experiment, name, least, most in db.execute(query):
        value = most if direction_of(name) is Direction.HIGHER else least
        if chosen[experiment] == name and value is not None:
            found[experiment] = BestMetric(name, value)
    return found


def _is_of_training(name: str) -> bool:
    return name.lower().startswith("train")
