"""The fields of runs that a query, an order or a column names: built-in columns, tags, fields of specs, figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.metric_direction import is_better_when_higher
from contract.metric_names import KNOWN
from store.run_table.columns import ALIASES, BuiltIn, built_ins
from store.run_table.leaves import PARAMETERS, within
from store.run_table.names import all_names, spec_paths
from store.run_table.query import Name, QueryError
from store.tables.experiments import ExperimentField
from store.tables.points import Figure
from store.tables.runs import RunField

LAST = "last"  # the only figure that may be NaN or infinite
FIGURES: Mapping[str, str] = {"last": LAST, "min": "least", "max": "most", "mean": "mean"}
MOST_ENDS = 20  # paths that end alike: the condition of SQL grows with their square
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


@dataclass(frozen=True)
class FirstOf:
    """What a name stands for in each run: the first of these fields that the run has."""

    fields: tuple[SpecField | MetricField, ...]


Field = BuiltIn | TagField | SpecField | MetricField | FirstOf


def find_field(db: Session, name: Name) -> Field:
    """Return the field of a name; raise QueryError with near names if there is none.

    A name is a column that every run has; else it stands in each run for the first of these that the run has: a field
    of its spec, `.kind` of a choice (`optimizer` for `optimizer.kind`), a parameter of a program (`lr` for
    `parameters.lr`), a field of the spec whose path ends so (`rate` for `schedule.rate`; those of the engine before
    parameters, then by the alphabet), the last value of a metric. What the engine measures stands for no path that ends
    so. So another run never changes which value of a run the name means. It may make the name one that is refused:
    several paths end so, nothing else has the name, and not just one of them is the engine's; or MOST_ENDS are
    exceeded.
    """
    if name.figure is not None:
        return _metric_field(db, name, name.figure)
    if name.text == "tag":
        return TagField()
    if column := built_ins().get(name.text):
        return column
    if name.text in ALIASES:
        return SpecField(ALIASES[name.text])
    metrics = [MetricField(name.text, LAST)] if _has_metric(db, name.text) else []
    paths = _paths_of(db, name, is_metric=bool(metrics))
    found: tuple[SpecField | MetricField, ...] = (*(SpecField(path) for path in paths), *metrics)
    if not found:
        raise QueryError(_unknown(db, name.text), name.place)
    return found[0] if len(found) == 1 else FirstOf(found)


def _paths_of(db: Session, name: Name, *, is_metric: bool) -> list[str]:
    """Return the paths of specs for which a name stands, the first one first; raise QueryError if that is not clear."""
    text = name.text
    # `loss` is what the engine measures, and not `loss.kind`
    exact = [text] if text in KNOWN else [text, f"{text}.kind"]
    of_specs = [path for path in exact if _has_path(db, path)]
    parameter = f"{PARAMETERS}{text}"
    sure = [*of_specs, *([parameter] if _has_path(db, parameter) else [])]
    if text in KNOWN or text.startswith(PARAMETERS):
        return sure
    ends = [path for path in spec_paths(db) if path.endswith(f".{text}") and path != parameter]
    of_engine = [] if of_specs else [path for path in ends if not path.startswith(PARAMETERS)]
    of_programs = [path for path in ends if path.startswith(PARAMETERS)]
    # all of them: runs that a name finds must not vanish because others have another path that ends so
    is_clear = sure or is_metric or len(of_engine) == 1 or len(ends) <= 1
    if not is_clear or len(ends) > MOST_ENDS:
        raise QueryError(_unknown(db, text), name.place)
    return [*sure, *of_engine, *of_programs]


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
