"""A page of the table: the ids of all runs of a query in their order, and the cells of some of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import Session, aliased

from store.lifecycle.tags import ExperimentTag, RunTag
from store.metrics.figures import Figure
from store.run_table.columns import BuiltIn, plain
from store.run_table.fields import Field, MetricField, SpecField, TagField
from store.run_table.spec_fields import ExperimentField, RunField
from store.tables import Experiment, Job, Run

Cell = float | int | str | bool | None
Keys = list[ColumnElement[Any]]


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


def cells_of(db: Session, runs: Sequence[Listed], fields: Sequence[Field]) -> dict[int, list[Cell]]:
    """Return the values of the fields of each run, in their order, with a few statements for all of them."""
    columns = [field for field in fields if isinstance(field, BuiltIn)]
    of_columns = _column_values(db, runs, columns)
    of_specs = _spec_values(db, runs, [field.path for field in fields if isinstance(field, SpecField)])
    of_figures = _figures(db, runs, [field.metric for field in fields if isinstance(field, MetricField)])
    tags = _tags(db, runs) if TagField() in fields else {}

    def cell(run: Listed, field: Field) -> Cell:
        match field:
            case BuiltIn():
                return of_columns[run.id][columns.index(field)]
            case TagField():
                return ", ".join(tags.get(run.id, ())) or None
            case SpecField(path):
                own = (RunField, run.id, path)
                return of_specs.get(own if own in of_specs else (ExperimentField, run.experiment_id, path))
            case MetricField(metric, column):
                figure = of_figures.get((run.id, metric))
                return figure and getattr(figure, column)

    return {run.id: [cell(run, field) for field in fields] for run in runs}


def _column_values(db: Session, runs: Sequence[Listed], columns: Sequence[BuiltIn]) -> dict[int, list[Cell]]:
    if not columns:
        return {run.id: [] for run in runs}
    query = select(Run.id, *(column.expression for column in columns)).join(Experiment)
    query = query.outerjoin(Job, Job.id == Run.current_job_id).where(Run.id.in_([run.id for run in runs]))
    return {row[0]: [plain(value) for value in row[1:]] for row in db.execute(query)}


def _spec_values(db: Session, runs: Sequence[Listed], paths: Sequence[str]) -> dict[tuple[type, int, str], Cell]:
    if not paths:
        return {}
    owners = (
        (RunField, RunField.run_id, [run.id for run in runs]),
        (ExperimentField, ExperimentField.experiment_id, sorted({run.experiment_id for run in runs})),
    )
    found: dict[tuple[type, int, str], Cell] = {}
    for table, owner, ids in owners:
        query = select(owner, table.path, table.number, table.text)
        for row in db.execute(query.where(table.path.in_(paths), owner.in_(ids))):
            found[table, row[0], row.path] = row.text if row.number is None else plain(row.number)
    return found


def _figures(db: Session, runs: Sequence[Listed], metrics: Sequence[str]) -> dict[tuple[int, str], Any]:
    if not metrics:
        return {}
    query = select(Figure.run_id, Figure.name, Figure.last, Figure.least, Figure.most, Figure.mean)
    rows = db.execute(query.where(Figure.name.in_(metrics), Figure.run_id.in_([run.id for run in runs])))
    return {(row.run_id, row.name): row for row in rows}


def _tags(db: Session, runs: Sequence[Listed]) -> dict[int, list[str]]:
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
