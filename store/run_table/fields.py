"""The fields of runs that a query, an order or a column names: built-in columns, tags, fields of specs, figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.metric_direction import is_better_when_higher
from store.metrics.figures import Figure
from store.run_table.columns import ALIASES, BuiltIn, built_ins
from store.run_table.leaves import PARAMETERS, within
from store.run_table.names import all_names, spec_paths
from store.run_table.query import Name, QueryError
from store.run_table.spec_fields import ExperimentField, RunField

LAST = "last"  # the only figure that may be NaN or infinite
FIGURES: Mapping[str, str] = {"last": LAST, "min": "least", "max": "most", "mean": "mean"}
BEST = "best"  # the greatest or the least value, by the metric's name


@dataclass(frozen=True)
class TagField:
    """The tags of a run and of its experiment."""


@dataclass(frozen=True)
class SpecField:
    """A field of the run's spec."""

    path: str


@dataclass(frozen=True)
class MetricField:
    """A figure of a metric."""

    metric: str
    column: str  # of the table of figures


Field = BuiltIn | TagField | SpecField | MetricField


def find_field(db: Session, name: Name) -> Field:
    """Return the field of a name; raise QueryError with near names if there is none.

    A name stands for the first of: a column that every run has, a field of a spec, the last value of a metric, `.kind`
    of a choice (`optimizer` for `optimizer.kind`), a parameter of a program (`lr` for `parameters.lr`), the only field
    of a spec that ends so (`rate` for `schedule.rate`).
    """
    if name.figure is not None:
        return _metric_field(db, name, name.figure)
    if name.text == "tag":
        return TagField()
    if column := built_ins().get(name.text):
        return column
    path = ALIASES.get(name.text, name.text)
    if name.text in ALIASES or _has_path(db, path):
        return SpecField(path)
    if _has_metric(db, name.text):
        return MetricField(name.text, FIGURES["last"])
    for candidate in (f"{path}.kind", f"parameters.{path}"):
        if _has_path(db, candidate):
            return SpecField(candidate)
    ends = [one for one in spec_paths(db) if one.endswith(f".{name.text}")]
    if len(ends) == 1:
        return SpecField(ends[0])
    raise QueryError(_unknown(db, name.text), name.place)


def find_column(db: Session, name: Name) -> Field:
    """Return the field of a name; a field or metric that no run has yet is one without values."""
    try:
        return find_field(db, name)
    except QueryError:
        if name.figure is None:
            return SpecField(name.text)
        return MetricField(name.text, _column_of(name, name.figure))


def _metric_field(db: Session, name: Name, figure: str) -> MetricField:
    column = _column_of(name, figure)
    if not _has_metric(db, name.text):
        metrics = [one.name for one in all_names(db) if one.is_metric]
        raise QueryError(f"no run has the metric {name.text!r}{_near(name.text, metrics)}", name.place)
    return MetricField(name.text, column)


def _column_of(name: Name, figure: str) -> str:
    """Return the column of the figures' table; raise QueryError."""
    if figure == BEST:
        return "most" if is_better_when_higher(name.text) else "least"
    if figure not in FIGURES:
        raise QueryError(f"expected last, best, min, max or mean, not {figure!r}", name.place)
    return FIGURES[figure]


def _has_path(db: Session, path: str) -> bool:
    """Return whether a run has the field: a value, or a parameter that is an object, with fields inside it."""
    tables, (first, end) = (ExperimentField, RunField), within(path)
    exact = [select(table.path).where(table.path == path) for table in tables]
    inside = [select(table.path).where(table.path >= first, table.path < end) for table in tables]
    queries = [*exact, *(inside if path.startswith(PARAMETERS) else [])]
    return any(db.scalar(query.limit(1)) is not None for query in queries)


def _has_metric(db: Session, metric: str) -> bool:
    return db.scalar(select(Figure.name).where(Figure.name == metric).limit(1)) is not None


def _unknown(db: Session, text: str) -> str:
    return f"no run has a field {text!r}{_near(text, [one.name for one in all_names(db)])}"


def _near(text: str, names: list[str]) -> str:
    ends = [name for name in names if name.endswith(f".{text}")]
    near = ends[:2] or get_close_matches(text, names, 1)
    if len(near) > 1:
        return f"; several end so, as {near[0]!r} and {near[1]!r}"
    return f"; did you mean {near[0]!r}?" if near else ""
