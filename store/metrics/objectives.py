"""The objectives of experiments, and the values of them that runs have.

A run's row has its value of the objective that its experiment has stored (`Run.objective_value`), for lists: the column
follows the figures of the metric. Where nobody has chosen an objective, the metrics that runs report decide, and the
values are read from the figures.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, exists, func, select, update
from sqlalchemy.orm import Session

from contract.objective import StoredObjective, objective_by_names
from store import changes
from store.locks import lock_runs
from store.metrics.figures import figure_of
from store.metrics.series import parts_of
from store.tables.experiments import Experiment
from store.tables.points import Figure
from store.tables.runs import Run


class Objectives(NamedTuple):
    """The objectives of experiments, by their ids; those without one have no entry."""

    by_id: Mapping[int, StoredObjective]
    stored: Collection[int]  # experiments whose runs have its values in their rows


class Best(NamedTuple):
    """The best value of an experiment's objective, and the run that has it."""

    value: float
    run_id: int


def column_of(objective: StoredObjective | None) -> dict[str, Any] | None:
    """Return an objective as the row of its experiment has it."""
    return None if objective is None else objective.model_dump(mode="json")


def objectives_of(db: Session, ids: Iterable[int]) -> Objectives:
    """Return the objectives of experiments."""
    stored = _stored(db, set(ids))
    open_ = [id_ for id_, one in stored.items() if one is None or one.is_default]
    reported = _first_names(db, open_)
    found = {id_: objective_by_names(one, reported.get(id_, ())) for id_, one in stored.items()}
    own = {id_ for id_, one in found.items() if one is not None and one == stored[id_]}
    return Objectives({id_: one for id_, one in found.items() if one is not None}, own)


def read_objective(db: Session, experiment_id: int) -> StoredObjective | None:
    """Return the objective that an experiment has stored."""
    return _stored(db, [experiment_id]).get(experiment_id)


def best_runs(db: Session, objectives: Objectives) -> dict[int, Best]:
    """Return the best run of each experiment, of equal ones the first, without runs that a person left out."""
    own = [id_ for id_ in objectives.by_id if id_ in objectives.stored]
    high = {id_ for id_ in own if objectives.by_id[id_].maximizes}
    found = {**_best_of_rows(db, high, func.max), **_best_of_rows(db, set(own) - high, func.min)}
    # the row of a run that a person left out of the answer is not in the index: such runs are few
    best_ids = [one.run_id for one in found.values()]
    left_out = set(db.scalars(select(Run.id).where(Run.id.in_(best_ids), Run.left_out.is_not(None))))
    again = {id_ for id_, one in found.items() if one.run_id in left_out}
    found = {id_: one for id_, one in found.items() if id_ not in again}
    for one, ids in _by_metric(objectives, (objectives.by_id.keys() - set(own)) | again).items():
        found |= _best_of_figures(db, one, ids)
    return found


def values_of(db: Session, runs: Mapping[int, tuple[int, float | None]]) -> dict[int, float | None]:
    """Return the value of the objective of each run; `runs` has the experiment and the stored value of each."""
    objectives = objectives_of(db, {experiment_id for experiment_id, _ in runs.values()})
    found: dict[int, float | None] = {run_id: value for run_id, (_, value) in runs.items()}
    for one, ids in _by_metric(objectives, objectives.by_id.keys() - set(objectives.stored)).items():
        mine = [run_id for run_id, (experiment_id, _) in runs.items() if experiment_id in ids]
        found |= dict.fromkeys(mine) | _values(db, one, mine)
    return found


def follow_figures(db: Session, changed: Collection[tuple[int, str]]) -> None:
    """Store the values of runs some of whose figures have changed; `changed`: the runs and the names of the series."""
    for part in parts_of({run_id for run_id, _ in changed}):
        query = select(Run.id, Run.experiment_id, Run.objective_value).where(Run.id.in_(part))
        rows = {row.id: row for row in db.execute(query)}
        stored = _stored(db, {row.experiment_id for row in rows.values()})
        by_objective: dict[StoredObjective, list[int]] = {}
        for row in rows.values():
            one = stored[row.experiment_id]
            if one is not None and (row.id, one.metric) in changed:
                by_objective.setdefault(one, []).append(row.id)
        found = {run_id: value for one, ids in by_objective.items() for run_id, value in _values(db, one, ids).items()}
        new = [
            {"id": id_, "objective_value": value} for id_, value in found.items() if value != rows[id_].objective_value
        ]
        if new:
            db.execute(update(Run), new)


def copy_values(db: Session, run_ids: Collection[int]) -> None:
    """Store the values of runs that got the figures of other runs."""
    query = select(Figure.run_id, Figure.name).where(Figure.run_id.in_(run_ids))
    follow_figures(db, {(row[0], row[1]) for row in db.execute(query)})


def change_objective(db: Session, experiment: Experiment, objective: StoredObjective) -> None:
    """Give an experiment another objective, and its runs their values of it."""
    experiment.objective = column_of(objective)
    # a statement of its own: the next one sees what those who held the runs have stored
    changes.record_runs(db, lock_runs(db, Run.experiment_id == experiment.id))
    value = select(figure_of(objective)).where(Figure.run_id == Run.id, Figure.name == objective.metric)
    mine = update(Run).where(Run.experiment_id == experiment.id)
    db.execute(mine.values(objective_value=value.scalar_subquery()).execution_options(synchronize_session=False))


def _stored(db: Session, ids: Collection[int]) -> dict[int, StoredObjective | None]:
    rows = db.execute(select(Experiment.id, Experiment.objective).where(Experiment.id.in_(ids)))
    return {id_: None if one is None else StoredObjective.model_validate(one) for id_, one in rows}


def _best_of_rows(db: Session, ids: Collection[int], best: Any) -> dict[int, Best]:
    """Return the best runs by the values in their rows: the statement reads an index only."""
    if not ids:
        return {}
    mine = (Run.experiment_id.in_(ids), Run.deleted_at.is_(None))
    tops = select(Run.experiment_id, best(Run.objective_value).label("value")).where(*mine)
    top = tops.group_by(Run.experiment_id).subquery()
    has_it = and_(Run.experiment_id == top.c.experiment_id, Run.objective_value == top.c.value)
    query = select(Run.experiment_id, top.c.value, func.min(Run.id)).join(top, has_it).where(*mine)
    return {row[0]: Best(row[1], row[2]) for row in db.execute(query.group_by(Run.experiment_id, top.c.value))}


def _best_of_figures(db: Session, one: StoredObjective, ids: Collection[int]) -> dict[int, Best]:
    value = figure_of(one)
    order = value.desc() if one.maximizes else value.asc()
    place = func.row_number().over(partition_by=Run.experiment_id, order_by=(order, Run.id)).label("place")
    query = select(Run.experiment_id, Run.id, value.label("value"), place).join(Figure, Figure.run_id == Run.id)
    mine = (Run.experiment_id.in_(ids), Run.deleted_at.is_(None), Figure.name == one.metric, value.is_not(None))
    ranked = query.where(*mine, Run.left_out.is_(None)).subquery()
    rows = db.execute(select(ranked).where(ranked.c.place == 1))
    return {row.experiment_id: Best(row.value, row.id) for row in rows}


def _values(db: Session, one: StoredObjective, run_ids: Sequence[int]) -> dict[int, float | None]:
    value = figure_of(one)
    query = select(Figure.run_id, value).where(Figure.name == one.metric, Figure.run_id.in_(run_ids))
    return {row[0]: row[1] for row in db.execute(query)}


def _by_metric(objectives: Objectives, ids: Iterable[int]) -> dict[StoredObjective, list[int]]:
    """Return these experiments by their objectives."""
    found: dict[StoredObjective, list[int]] = {}
    for id_ in ids:
        found.setdefault(objectives.by_id[id_], []).append(id_)
    return found


def _first_names(db: Session, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the metrics of the first run of each experiment that has reported any: nearly always the run 0."""
    query = select(Run.experiment_id, Run.latest)
    first = query.where(Run.experiment_id.in_(ids), Run.number == 0, Run.deleted_at.is_(None))
    found = {row[0]: list(row[1]) for row in db.execute(first)}
    others = [id_ for id_ in ids if not found.get(id_)]
    mine = (Run.experiment_id.in_(others), Run.deleted_at.is_(None), exists().where(Figure.run_id == Run.id))
    ends = select(func.min(Run.id)).where(*mine).group_by(Run.experiment_id)
    later = db.execute(query.where(Run.id.in_(ends))) if others else ()
    return found | {row[0]: list(row[1]) for row in later}
