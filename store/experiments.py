"""Experiments as lists and pages show them: counts, progress and the best accuracy over their runs."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import Session, defer

from contract.lifecycle.state import JOINT_ORDER, State
from store.lists.order import ListOrder
from store.tables import Experiment, Run

RANK_SERIES = re.compile(r"/rank-\d+$")  # of one rank: a run may have thousands of them
MAX_NAMES = 100  # of series of an experiment: a list shows one curve of each


class Summary(NamedTuple):
    counts: dict[State, int]
    step: int
    steps: int
    best_accuracy: float | None
    series: list[str]  # that the first run reports


def created_by(db: Session, key: str) -> tuple[Experiment, list[int]] | None:
    """Return the experiment that the request with this key created, with its runs."""
    made = db.scalar(select(Experiment).where(Experiment.key == key))
    if not made:
        return None
    return made, list(db.scalars(select(Run.id).where(Run.experiment_id == made.id).order_by(Run.number)))


def page(db: Session, *which: ColumnElement[bool], order: ListOrder, limit: int) -> Sequence[Experiment]:
    """Return experiments for which `which` holds, in `order`; one more than `limit` if there is a next page."""
    unseen = (Experiment.spec, Experiment.notes, Experiment.added_points, Experiment.key, Experiment.deleted_at)
    query = select(Experiment).options(*map(defer, unseen)).order_by(*order.by).limit(limit + 1)
    return db.scalars(query.where(*which, *order.which)).all()


def has_in_name(text: str) -> ColumnElement[bool]:
    """Return the condition for experiments with `text` in the name; LIKE differs in case between the databases."""
    return func.replace(Experiment.name, text, "") != Experiment.name


def has_joint_state(state: State) -> ColumnElement[bool]:
    """Return the condition for experiments whose runs have the joint state `state`, as `joint_state` defines it."""
    mine = and_(Run.experiment_id == Experiment.id, Run.deleted_at.is_(None))
    earlier = JOINT_ORDER[: JOINT_ORDER.index(state)]
    has_earlier = exists().where(mine, Run.state.in_(earlier))
    if state is JOINT_ORDER[-1]:  # also the state of an experiment without runs
        return ~has_earlier
    return exists().where(mine, Run.state == state) & ~has_earlier


def summaries(db: Session, ids: Sequence[int]) -> dict[int, Summary]:
    """Return the summary of each experiment; the query over all runs reads an index only."""
    counts: dict[int, dict[State, int]] = defaultdict(dict)
    steps: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    best: dict[int, list[float]] = defaultdict(list)
    columns = (func.count(), func.sum(Run.step), func.sum(Run.steps), func.max(Run.best_accuracy))
    taken = (
        select(Run.experiment_id, Run.state, *columns)
        .where(Run.experiment_id.in_(ids), Run.deleted_at.is_(None))
        .group_by(Run.experiment_id, Run.state)
    )
    for experiment, state, count, step, total, accuracy in db.execute(taken):
        counts[experiment][State(state)] = count
        steps[experiment][0] += step
        steps[experiment][1] += total
        best[experiment] += [] if accuracy is None else [accuracy]
    series = _series_of_first_runs(db, ids)
    return {
        id_: Summary(counts[id_], steps[id_][0], steps[id_][1], max(best[id_], default=None), series.get(id_, []))
        for id_ in ids
    }


def _series_of_first_runs(db: Session, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the names of the series of each experiment's first run, in the order of their first values."""
    first = select(Run.experiment_id, Run.latest).where(Run.experiment_id.in_(ids), Run.number == 0)
    return {
        id_: [name for name in latest if not RANK_SERIES.search(name)][:MAX_NAMES] for id_, latest in db.execute(first)
    }
