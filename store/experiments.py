"""Experiments as lists and pages show them: counts, progress and the best of their runs."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.orm import Session, defer

from contract.lifecycle.state import JOINT_ORDER, State, joint_state
from contract.lifecycle.step import OPEN_STEPS
from contract.objective import StoredObjective
from store.lists.order import ListOrder
from store.metrics.objectives import Best, best_runs, objectives_of
from store.search import searches
from store.steps.progress import count_open
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.steps import Step

RANK_SERIES = re.compile(r"/rank-\d+$")  # of one rank: a run may have thousands of them
MAX_NAMES = 100  # of series of an experiment: a list shows one curve of each


class Summary(NamedTuple):
    counts: dict[State, int]
    step: int
    steps: int
    series: list[str]  # that the first run reports
    open_steps: int = 0  # of a workflow: steps that wait or run
    search: searches.Counts | None = None
    diverged: int = 0  # runs, whatever their state
    objective: StoredObjective | None = None
    best: Best | None = None

    @property
    def state(self) -> State:
        """The joint state of the runs; a step that has not ended counts as a queued run, since runs may follow.

        So does a search. One that ended by itself is done, though it stopped the worse trials.
        """
        goes_on = self.search is not None and self.search.is_open
        queued = self.counts.get(State.QUEUED, 0) + self.open_steps + goes_on
        state = joint_state({**self.counts, State.QUEUED: queued})
        is_complete = self.search is not None and self.search.is_complete
        return State.DONE if is_complete and state is State.CANCELLED else state


def created_by(db: Session, key: str) -> tuple[Experiment, list[int]] | None:
    """Return the experiment that the request with this key created, with its runs."""
    made = db.scalar(select(Experiment).where(Experiment.key == key))
    if not made:
        return None
    return made, list(db.scalars(select(Run.id).where(Run.experiment_id == made.id).order_by(Run.number)))


def find(db: Session, experiment_id: int) -> Experiment | None:
    """Return an experiment; None if there is none, or if it is deleted."""
    experiment = db.get(Experiment, experiment_id)
    return None if experiment is None or experiment.deleted_at is not None else experiment


def is_present(db: Session, experiment_id: int) -> bool:
    """Return whether there is an experiment, without reading its spec of up to ten thousand values."""
    mine = (Experiment.id == experiment_id, Experiment.deleted_at.is_(None))
    return db.scalar(select(Experiment.id).where(*mine)) is not None


def page(db: Session, *which: ColumnElement[bool], order: ListOrder, limit: int) -> Sequence[Experiment]:
    """Return experiments for which `which` holds, in `order`; one more than `limit` if there is a next page."""
    unseen = (Experiment.spec, Experiment.notes, Experiment.added_points, Experiment.key, Experiment.deleted_at)
    query = select(Experiment).options(*map(defer, unseen)).order_by(*order.by).limit(limit + 1)
    return db.scalars(query.where(*which, *order.which)).all()


def has_in_name(text: str) -> ColumnElement[bool]:
    """Return the condition for experiments with `text` in the name; LIKE differs in case between the databases."""
    return func.replace(Experiment.name, text, "") != Experiment.name


def has_joint_state(state: State) -> ColumnElement[bool]:
    """Return the condition for experiments of the state `state`, as `Summary.state` defines it."""
    is_complete = searches.is_complete(Experiment.id)
    match state:
        case State.CANCELLED:
            return _runs_have(state) & ~is_complete
        case State.DONE:
            return _runs_have(state) | (_runs_have(State.CANCELLED) & is_complete)
    return _runs_have(state)


def _runs_have(state: State) -> ColumnElement[bool]:
    """Return the condition that the runs of an experiment have the joint state `state`."""
    mine = and_(Run.experiment_id == Experiment.id, Run.deleted_at.is_(None))
    has_open_step = exists().where(Step.experiment_id == Experiment.id, Step.state.in_(OPEN_STEPS))
    may_get_runs = has_open_step | searches.is_open(Experiment.id)
    earlier = JOINT_ORDER[: JOINT_ORDER.index(state)]
    has_earlier: ColumnElement[bool] = exists().where(mine, Run.state.in_(earlier))
    if State.QUEUED in earlier:
        has_earlier = has_earlier | may_get_runs
    if state is JOINT_ORDER[-1]:  # also the state of an experiment without runs
        return ~has_earlier
    has_own = exists().where(mine, Run.state == state)
    return (has_own | may_get_runs if state is State.QUEUED else has_own) & ~has_earlier


def summaries(db: Session, ids: Sequence[int]) -> dict[int, Summary]:
    """Return the summary of each experiment; the queries over all runs read an index only."""
    counts: dict[int, dict[State, int]] = defaultdict(dict)
    steps: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    taken = (
        select(Run.experiment_id, Run.state, func.count(), func.sum(Run.step), func.sum(Run.steps))
        .where(Run.experiment_id.in_(ids), Run.deleted_at.is_(None))
        .group_by(Run.experiment_id, Run.state)
    )
    for experiment, state, count, step, total in db.execute(taken):
        counts[experiment][State(state)] = count
        steps[experiment][0] += step
        steps[experiment][1] += total
    series, open_steps, found = _series_of_first_runs(db, ids), count_open(db, ids), searches.counts(db, ids)
    diverged, objectives = _diverged(db, ids), objectives_of(db, ids)
    bests = best_runs(db, objectives)
    return {
        id_: Summary(
            *(counts[id_], steps[id_][0], steps[id_][1], series.get(id_, [])),
            open_steps.get(id_, 0),
            found.get(id_),
            diverged.get(id_, 0),
            objectives.by_id.get(id_),
            bests.get(id_),
        )
        for id_ in ids
    }


def _diverged(db: Session, ids: Sequence[int]) -> dict[int, int]:
    """Return the numbers of diverged runs; these runs have an index of their own."""
    which = (Run.experiment_id.in_(ids), Run.diverged.is_not(None), Run.deleted_at.is_(None))
    query = select(Run.experiment_id, func.count()).where(*which).group_by(Run.experiment_id)
    return {row[0]: row[1] for row in db.execute(query)}


def _series_of_first_runs(db: Session, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the names of the series of each experiment's first run, in the order of their first values."""
    first = select(Run.experiment_id, Run.latest).where(Run.experiment_id.in_(ids), Run.number == 0)
    return {
        id_: [name for name in latest if not RANK_SERIES.search(name)][:MAX_NAMES] for id_, latest in db.execute(first)
    }
