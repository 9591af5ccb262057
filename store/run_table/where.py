"""A query about runs as a condition of SQL.

Every condition is true or false, never null: a run without a value does not match a comparison, and matches its
opposite. Fields of specs and figures are found by the indices of their tables, so that no spec is read.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, assert_never

from sqlalchemy import ColumnElement, and_, exists, false, func, not_, or_, select, true
from sqlalchemy.orm import Session

from store.run_table import query
from store.run_table.any_text import contains, run_has_text
from store.run_table.columns import BuiltIn, Kind
from store.run_table.fields import LAST, Field, FirstOf, MetricField, SpecField, TagField, find_field
from store.run_table.leaves import MAX_TEXT, within
from store.run_table.query import QueryError, Value
from store.run_table.values import (
    is_missing,
    is_missing_number,
    moment_of,
    not_finite_word,
    number_of,
    number_or_none,
    seconds_of,
)
from store.tables.experiments import Experiment, ExperimentField, ExperimentTag
from store.tables.points import Figure
from store.tables.runs import Job, Run, RunField, RunTag

Condition = ColumnElement[bool]
ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPPOSITES = {"!=": "=", "!~": "~"}


def condition_of(db: Session, asked: query.Query) -> Condition:
    """Return the condition for the runs of a query; raise QueryError."""
    match asked:
        case query.All(parts):
            return and_(*(condition_of(db, part) for part in parts))
        case query.Any(parts):
            return or_(*(condition_of(db, part) for part in parts))
        case query.Not(of):
            return not_(condition_of(db, of))
        case query.HasText(text):
            return run_has_text(text)
        case query.IsIn(name, values):
            field = find_field(db, name)
            return or_(*(_compare(field, "=", value) for value in values))
        case query.Comparison(name, sign, value):
            field = find_field(db, name)
            if opposite := OPPOSITES.get(sign):
                return not_(_compare(field, opposite, value))
            return _compare(field, sign, value)
        case _:
            assert_never(asked)


def _compare(field: Field, sign: str, value: Value) -> Condition:
    value = _as_null(field, value)
    if is_missing(value) and sign != "=":
        raise QueryError(f"{value.text} can be compared with = and != only", value.place)
    match field:
        case BuiltIn():
            return _of_column(field, sign, value)
        case TagField():
            return _of_tags(sign, value)
        case SpecField(path):
            return _of_spec(path, sign, value)
        case MetricField(metric, column):
            return _of_metric(metric, column, sign, value)
        case FirstOf(fields):
            return _of_first(fields, sign, value)
        case _:
            assert_never(field)


def _as_null(field: Field, value: Value) -> Value:
    """Return `none` as `null` where a field has no texts, or only those of a list without that word."""
    has_texts = field.kind is Kind.TEXT and not field.choices if isinstance(field, BuiltIn) else True
    if (isinstance(field, MetricField) or not has_texts) and is_missing_number(value):
        return replace(value, text="null")
    return value


def _of_first(fields: Sequence[SpecField | MetricField], sign: str, value: Value) -> Condition:
    """Return the condition for runs in which the first field that they have holds."""
    missing = Value("null", value.place)
    lacks = [_compare(field, "=", missing) for field in fields]
    if is_missing(value):
        return and_(*lacks)
    return or_(*(and_(*lacks[:place], _holds(field, sign, value)) for place, field in enumerate(fields)))


def _holds(field: SpecField | MetricField, sign: str, value: Value) -> Condition:
    # other runs have a text where these have a metric
    is_text = value.is_quoted or (number_or_none(value) is None and not_finite_word(value) is None)
    if isinstance(field, MetricField) and (sign == "~" or is_text):
        return false()
    return _compare(field, sign, value)


def _of_column(column: BuiltIn, sign: str, value: Value) -> Condition:
    if is_missing(value):
        return _is_missing(column)
    if column.kind is Kind.TEXT:
        return _in_table(column, _of_text(column, sign, value))
    compared = {Kind.NUMBER: number_of, Kind.DURATION: seconds_of, Kind.MOMENT: moment_of}[column.kind](value)
    compares = _ordered(column.expression, sign, compared, value)
    return _in_table(column, func.coalesce(compares, false()) if column.can_be_null else compares)


def _is_missing(column: BuiltIn) -> Condition:
    if column.table is Job:
        return Run.id.not_in(
            select(Run.id).join(Job, Job.id == Run.current_job_id).where(column.expression.is_not(None))
        )
    if column.can_be_null:
        return _in_table(column, column.expression.is_(None))
    return _in_table(column, column.expression == "") if column.kind is Kind.TEXT else false()


def _of_text(column: BuiltIn, sign: str, value: Value) -> Condition:
    if sign == "~":
        return contains(column.expression, value.text)
    if column.choices:
        _check_choice(column.choices, value)
        if sign != "=":
            raise QueryError(f"expected = or != or in before {value.text!r}, not {sign}", value.place)
    return _ordered(column.expression, sign, value.text, value)


def _check_choice(choices: Sequence[str], value: Value) -> None:
    if value.text not in choices:
        near = get_close_matches(value.text, choices, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise QueryError(f"expected one of {', '.join(choices)}, not {value.text!r}{hint}", value.place)


def _ordered(expression: Any, sign: str, compared: object, value: Value) -> Condition:
    if sign not in ORDERED:
        raise QueryError(f"{sign} compares texts, and this field has none", value.place)
    found: Condition = ORDERED[sign](expression, compared)
    return found


def _in_table(column: BuiltIn, found: Condition) -> Condition:
    if column.table is Experiment:
        return Run.experiment_id.in_(select(Experiment.id).where(found))
    if column.table is Job:
        return func.coalesce(Run.current_job_id.in_(select(Job.id).where(found)), false())
    return found


def _of_tags(sign: str, value: Value) -> Condition:
    def has(tag: Any) -> Condition:
        if is_missing(value):
            return true()
        if sign == "~":
            return contains(tag, value.text)
        return _ordered(tag, sign, value.text, value)

    found = or_(
        Run.id.in_(select(RunTag.run_id).where(has(RunTag.tag))),
        Run.experiment_id.in_(select(ExperimentTag.experiment_id).where(has(ExperimentTag.tag))),
    )
    return not_(found) if is_missing(value) else found


def _of_spec(path: str, sign: str, value: Value) -> Condition:
    if is_missing(value):
        return not_(or_(_of_either(path, _has_value), _has_fields_inside(path)))

    def holds(table: Any) -> Condition:
        if sign == "~":
            return contains(table.text, value.text)
        number, text = number_or_none(value), value.text[:MAX_TEXT]  # as it is stored
        if number is None:
            return _ordered(table.text, sign, text, value)
        of_number = _ordered(table.number, sign, number, value)
        return or_(of_number, table.text == text) if sign == "=" else of_number

    return _of_either(path, holds)


def _has_value(table: Any) -> Condition:
    return or_(table.number.is_not(None), table.text.is_not(None))


def _has_fields_inside(path: str) -> Condition:
    """Return the condition for runs whose field is an object: it has no value of its own, and is not missing."""
    first, end = within(path)

    def inside(table: Any) -> Condition:
        return and_(table.path >= first, table.path < end)

    own = select(RunField.run_id).where(inside(RunField), _has_value(RunField))
    # an inherited field counts unless the run lacks it
    of_run = (RunField.run_id == Run.id, RunField.path == ExperimentField.path, not_(_has_value(RunField)))
    lacks = exists().where(*of_run).correlate(Run, ExperimentField)
    of_experiment = (ExperimentField.experiment_id == Run.experiment_id, inside(ExperimentField), ~lacks)
    inherited = exists().where(*of_experiment).correlate(Run)
    return or_(Run.id.in_(own), inherited)


def _of_either(path: str, holds: Callable[[Any], Condition]) -> Condition:
    """Return the condition for runs whose own field holds, or without one the field of their experiment."""
    of_path = RunField.path == path
    own = select(RunField.run_id).where(of_path, holds(RunField))
    inherited = select(ExperimentField.experiment_id).where(ExperimentField.path == path, holds(ExperimentField))
    have_own = select(RunField.run_id).where(of_path)
    return or_(Run.id.in_(own), and_(Run.experiment_id.in_(inherited), Run.id.not_in(have_own)))


def _of_metric(metric: str, column: str, sign: str, value: Value) -> Condition:
    figure = getattr(Figure, column)
    of_metric = Figure.name == metric
    if is_missing(value):
        # a metric that is NaN has a value
        has_value = true() if column == LAST else figure.is_not(None)
        return Run.id.not_in(select(Figure.run_id).where(of_metric, has_value))
    if (word := not_finite_word(value)) is not None:
        return Run.id.in_(select(Figure.run_id).where(of_metric, _is_not_finite(metric, column, sign, value, word)))
    found = _ordered(figure, sign, number_of(value), value)
    return Run.id.in_(select(Figure.run_id).where(of_metric, found))


def _is_not_finite(metric: str, column: str, sign: str, value: Value, word: str) -> Condition:
    if column != LAST:
        message = f"only the last value of a metric may be {word}; compare {metric} or last({metric})"
        raise QueryError(message, value.place)
    if sign != "=":
        raise QueryError(f"{value.text} can be compared with = and != only", value.place)
    return Figure.not_finite == word
