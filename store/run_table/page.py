"""A page of the table: the ids of all runs of a query in their order, and the cells of some of them."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, String, and_, case, func, null, or_, select, type_coerce
from sqlalchemy.orm import Session, aliased

from store.run_table.columns import MOMENT, BuiltIn, plain
from store.run_table.fields import LAST, Field, FirstOf, MetricField, SpecField, TagField
from store.run_table.keyset import Key, beyond, goes_on, key_of, place_after, read_place
from store.run_table.leaves import PARAMETERS, Leaf, Leaves, object_of, within
from store.tables.base import now
from store.tables.experiments import Experiment, ExperimentField, ExperimentTag
from store.tables.points import Figure
from store.tables.runs import Job, Run, RunField, RunTag

Cell = float | int | str | bool | None
Part = BuiltIn | TagField | SpecField | MetricField  # a field that is no choice of others
Expressions = list[ColumnElement[Any]]
FIGURES = (LAST, "least", "most", "mean")  # of a metric
NO_TEXT = type_coerce(null(), String())  # so that a choice which ends with a metric is one of texts
# one object for each, because groups find a value that does not equal itself by its identity
NOT_FINITE = {word: float(word) for word in ("nan", "inf", "-inf")}


class FieldOrder(NamedTuple):
    """A field by whose values the table is sorted."""

    field: Field
    is_descending: bool


def ordered_ids(db: Session, *which: ColumnElement[bool], by: Sequence[FieldOrder]) -> list[int]:
    """Return the ids of the runs of `which`; a run without a value comes last, equal runs are newest first."""
    asked, keys = _ordered(which, by)
    return list(db.scalars(asked.order_by(*(key.clause for key in keys), Run.id.desc())))


class Page(NamedTuple):
    """The ids of a page of the table, and the number of all runs of the query."""

    total: int
    ids: list[int]
    next: str | None  # the place behind the last one; None: there are no more


def page_of_ids(
    db: Session,
    *which: ColumnElement[bool],
    by: Sequence[FieldOrder],
    limit: int,
    offset: int = 0,
    after: str | None = None,
) -> Page:
    """Return a page of the runs of `which`, in the order of `ordered_ids`: from a number on, or behind a place.

    Raise PlaceError for a place that is none in this order.
    """
    asked, keys = _ordered(which, by)
    place = read_place(keys, after) if after is not None else None
    moment = place.moment if place and place.moment else now()
    total = db.scalar(select(func.count(Run.id).label("table_run_count")).where(*which)) or 0
    asked = asked.add_columns(*(key.expression for key in keys)).order_by(*(key.clause for key in keys), Run.id.desc())
    if place is not None:
        asked = asked.where(beyond(keys, place))
    asked = asked.offset(offset).limit(limit + 1)
    rows = [tuple(row) for row in db.execute(asked, {MOMENT: moment})] if total else []
    following = place_after(rows[limit - 1], moment if goes_on(keys) else None) if len(rows) > limit else None
    return Page(total, [row[0] for row in rows[:limit]], following)


def _ordered(which: Sequence[ColumnElement[bool]], by: Sequence[FieldOrder]) -> tuple[Select[Any], list[Key]]:
    asked: Select[Any] = select(Run.id.label("table_run_id")).where(*which)
    keys: list[Key] = []
    for order in by:
        asked, own = _joined(asked, order.field)
        keys += [key_of(expression, is_descending=order.is_descending) for expression in own]
    return asked, keys


def _joined(asked: Select[Any], field: Field) -> tuple[Select[Any], Expressions]:
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
        case FirstOf(fields):
            parts = []
            for one in fields:
                asked, columns = _joined(asked, one)
                parts.append((columns[0], columns[1] if len(columns) > 1 else NO_TEXT))
            has_value = [or_(number.is_not(None), text.is_not(None)) for number, text in parts]
            return asked, [
                case(*[(has, part[place]) for has, part in zip(has_value, parts, strict=True)]) for place in (0, 1)
            ]


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
    parts = list(dict.fromkeys(one for field in fields for one in _parts_of(field)))
    columns = [field for field in parts if isinstance(field, BuiltIn)]
    of_columns = _column_values(db, runs, columns)
    of_specs = _spec_values(db, runs, [field.path for field in parts if isinstance(field, SpecField)])
    of_figures = _figures(db, runs, {field.metric for field in parts if isinstance(field, MetricField)})
    tags = tags_of(db, runs) if TagField() in parts else {}

    def values(field: Part) -> list[Cell]:
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
    known = {field: values(field) for field in parts}
    by_field = [_first_values([known[one] for one in _parts_of(field)]) for field in fields]
    return {run.id: [cells[place] for cells in by_field] for place, run in enumerate(runs)}


def _parts_of(field: Field) -> Sequence[Part]:
    return field.fields if isinstance(field, FirstOf) else [field]


def _first_values(columns: Sequence[list[Cell]]) -> list[Cell]:
    """Return of each run the first value that is there."""
    if len(columns) == 1:
        return columns[0]
    return [next((cell for cell in cells if cell is not None), None) for cells in zip(*columns, strict=True)]


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
