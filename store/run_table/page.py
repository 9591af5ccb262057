"""A page of the table: the ids of all runs of a query in their order, and the cells of some of them."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import Session, aliased

from store.lifecycle.tags import ExperimentTag, RunTag
from store.metrics.figures import Figure
from store.run_table.columns import BuiltIn, plain
from store.run_table.fields import LAST, Field, MetricField, SpecField, TagField
from store.run_table.leaves import PARAMETERS, Leaf, Leaves, object_of, within
from store.run_table.spec_fields import ExperimentField, RunField
from store.tables import Experiment, Job, Run

Cell = float | int | str | bool | None
Keys = list[ColumnElement[Any]]
FIGURES = (LAST, "least", "most", "mean")  # of a metric
# one object for each, because groups find a value that does not equal itself by its identity
NOT_FINITE = {word: float(word) for word in ("nan", "inf", "-inf")}


class FieldOrder(NamedTuple):
    """A field by whose values the table is sorted."""

    field: Field
    is_descending: bool


def ordered_ids(db: Session, *which: ColumnElement[bool], by: Sequence[FieldOrder]) -> list[int]:
    """Return the ids of the runs of `which`; a run without a value comes last, equal runs are newest first."""
    asked: Select[Any] = select(Run.id.label("table_run_id")).where(*which)
    keys: Keys = []
    for order in by:
        asked, own = _joined(asked, order.field)
        keys += [(key.desc() if order.is_descending else key.asc()).nulls_last() for key in own]
    return list(db.scalars(asked.order_by(*keys, Run.id.desc())))


class Page(NamedTuple):
    """The ids of a page of the table, and the number of all runs of the query."""

    total: int
    ids: list[int]


def page_of_ids(db: Session, *which: ColumnElement[bool], by: Sequence[FieldOrder], offset: int, limit: int) -> Page:
    """Return a page of the runs of `which`, in the order of `ordered_ids`."""
    if by:  # a sorted page needs the values of all runs
        ids = ordered_ids(db, *which, by=by)
        return Page(len(ids), ids[offset : offset + limit])
    total = db.scalar(select(func.count(Run.id).label("table_run_count")).where(*which))
    if not total:
        return Page(0, [])
    newest = select(Run.id.label("table_run_id")).where(*which).order_by(Run.id.desc()).offset(offset).limit(limit)
    return Page(total, list(db.scalars(newest)))


def _joined(asked: Select[Any], field: Field) -> tuple[Select[Any], Keys]:
    """Join the table of a field's values, and return the expressions by which they are sorted."""
    match field:
        case BuiltIn():
            if field.table is Run:
                return asked, [field.expression]
            # another field of the same table may be in the order, too
            value = _scalar(field)
            return asked, [value]
        case TagField():
            return asked, [_first_tag()]
        case SpecField(path):
            own, base = aliased(RunField), aliased(ExperimentField)
            asked = asked.outerjoin(own, and_(own.run_id == Run.id, own.path == path))
            on = and_(base.experiment_id == Run.experiment_id, base.path == path)
            asked, has_own = asked.outerjoin(base, on), own.run_id.is_not(None)
            return asked, [
                case((has_own, own.number), else_=base.number),
                case((has_own, own.text), else_=base.text),
            ]
        case MetricField(metric, column):
            figures = aliased(Figure)
            asked = asked.outerjoin(figures, and_(figures.run_id == Run.id, figures.name == metric))
            return asked, [getattr(figures, column)]


def _scalar(column: BuiltIn) -> ColumnElement[Any]:
    table: Any = column.table
    on = Job.id == Run.current_job_id if table is Job else Experiment.id == Run.experiment_id
    value: ColumnElement[Any] = select(column.expression).where(on).correlate(Run).scalar_subquery()
    return value


def _first_tag() -> ColumnElement[Any]:
    """Return the tag that a cell shows first: the least of the run's and the experiment's."""
    mine = select(func.min(RunTag.tag)).where(RunTag.run_id == Run.id).correlate(Run)
    of_experiment = select(func.min(ExperimentTag.tag)).where(ExperimentTag.experiment_id == Run.experiment_id)
    own, inherited = mine.scalar_subquery(), of_experiment.correlate(Run).scalar_subquery()
    return case((func.coalesce(own < inherited, inherited.is_(None)), own), else_=inherited)


class Listed(NamedTuple):
    """What a page needs to know of a run to fill its cells."""

    id: int
    experiment_id: int


class _SpecValues(NamedTuple):
    """The values of a field of specs."""

    of_runs: dict[int, Cell]
    of_experiments: dict[int, Cell]


def cells_of(db: Session, runs: Sequence[Listed], fields: Sequence[Field]) -> dict[int, list[Cell]]:
    """Return the values of the fields of each run, in their order, with a few statements for all of them."""
    columns = [field for field in fields if isinstance(field, BuiltIn)]
    of_columns = _column_values(db, runs, columns)
    of_specs = _spec_values(db, runs, [field.path for field in fields if isinstance(field, SpecField)])
    of_figures = _figures(db, runs, {field.metric for field in fields if isinstance(field, MetricField)})
    tags = tags_of(db, runs) if TagField() in fields else {}

    def values(field: Field) -> list[Cell]:
        match field:
            case BuiltIn():
                place = columns.index(field)
                return [of_columns[run.id][place] for run in runs]
            case TagField():
                return [", ".join(tags.get(run.id, ())) or None for run in runs]
            case SpecField(path):
                own, base = of_specs[path]
                return [own[run.id] if run.id in own else base.get(run.experiment_id) for run in runs]
            case MetricField(metric, column):
                found, place = of_figures[metric], FIGURES.index(column)
                return [found[run.id][place] if run.id in found else None for run in runs]

    # by field first: the kind of a field is looked at once, and a large group has many runs
    by_field = [values(field) for field in fields]
    return {run.id: [cells[place] for cells in by_field] for place, run in enumerate(runs)}


def _column_values(db: Session, runs: Sequence[Listed], columns: Sequence[BuiltIn]) -> dict[int, list[Cell]]:
    if not columns:
        return {run.id: [] for run in runs}
    query = select(Run.id, *(column.expression for column in columns)).join(Experiment)
    query = query.outerjoin(Job, Job.id == Run.current_job_id).where(Run.id.in_([run.id for run in runs]))
    return {row[0]: [plain(value) for value in row[1:]] for row in db.execute(query)}


def _spec_values(db: Session, runs: Sequence[Listed], paths: Sequence[str]) -> dict[str, _SpecValues]:
    """Return the values of each path by the ids of runs, and by those of experiments for runs without their own."""
    found = {path: _SpecValues({}, {}) for path in paths}
    if not paths:
        return found
    owners = (
        (RunField, RunField.run_id, [run.id for run in runs]),
        (ExperimentField, ExperimentField.experiment_id, sorted({run.experiment_id for run in runs})),
    )
    for table, owner, ids in owners:
        query = select(owner, table.path, table.number, table.text)
        for owner_id, path, number, text in db.execute(query.where(table.path.in_(paths), owner.in_(ids))):
            values = found[path].of_runs if table is RunField else found[path].of_experiments
            values[owner_id] = text if number is None else plain(number)
    for path, of_path in found.items():
        without = [
            one for one in runs if one.id not in of_path.of_runs and one.experiment_id not in of_path.of_experiments
        ]
        if without and path.startswith(PARAMETERS):
            _fill_objects(db, without, path, of_path)
    return found


def _fill_objects(db: Session, runs: Sequence[Listed], path: str, values: _SpecValues) -> None:
    """Add the values of runs whose field is an object: the fields inside it, as JSON."""
    first, end = within(path)

    def inside(table: type[RunField] | type[ExperimentField], owner: Any, ids: Sequence[int]) -> dict[int, Leaves]:
        query = select(owner, table.path, table.number, table.text)
        by_owner: dict[int, Leaves] = {}
        for owner_id, below, number, text in db.execute(
            query.where(table.path >= first, table.path < end, owner.in_(ids))
        ):
            by_owner.setdefault(owner_id, {})[below] = Leaf(number, text)
        return by_owner

    experiments = sorted({run.experiment_id for run in runs})
    bases = inside(ExperimentField, ExperimentField.experiment_id, experiments)
    own = inside(RunField, RunField.run_id, [run.id for run in runs])
    for run in runs if bases or own else ():
        fields = bases.get(run.experiment_id, {}) | own.get(run.id, {})
        if (text := object_of(path, fields)) is not None:
            values.of_runs[run.id] = text


def _figures(db: Session, runs: Sequence[Listed], metrics: Collection[str]) -> dict[str, dict[int, Sequence[Any]]]:
    """Return the FIGURES of each metric by the ids of runs."""
    found: dict[str, dict[int, Sequence[Any]]] = {metric: {} for metric in metrics}
    if metrics:
        query = select(Figure.run_id, Figure.name, Figure.not_finite, *(getattr(Figure, name) for name in FIGURES))
        rows = db.execute(query.where(Figure.name.in_(metrics), Figure.run_id.in_([run.id for run in runs])))
        for row in rows:
            figures = tuple(row[3:])
            found[row[1]][row[0]] = figures if row[2] is None else (NOT_FINITE[row[2]], *figures[1:])
    return found


def tags_of(db: Session, runs: Sequence[Listed]) -> dict[int, list[str]]:
    """Return the tags of each run and of its experiment, in alphabetical order."""
    own = select(RunTag.run_id, RunTag.tag).where(RunTag.run_id.in_([run.id for run in runs]))
    ids = {run.experiment_id for run in runs}
    query = select(ExperimentTag.experiment_id, ExperimentTag.tag).where(ExperimentTag.experiment_id.in_(ids))
    of_experiments: dict[int, set[str]] = {}
    for row in db.execute(query):
        of_experiments.setdefault(row[0], set()).add(row[1])
    found = {run.id: set(of_experiments.get(run.experiment_id, ())) for run in runs}
    for row in db.execute(own):
        found[row[0]].add(row[1])
    return {run_id: sorted(each) for run_id, each in found.items()}
