"""The search for a text in all that belongs to a run: labels, also its experiment's, its reason, its spec's fields."""

import json
from typing import Any

from sqlalchemy import JSON, ColumnElement, String, and_, case, cast, false, func, or_, select, true, type_coerce
from sqlalchemy.orm import aliased

from store.tables.experiments import Experiment, ExperimentField, ExperimentTag
from store.tables.runs import Run, RunField, RunTag

Condition = ColumnElement[bool]
OF_EXPERIMENT = (Experiment.name, Experiment.description, Experiment.notes)
# the texts of contract/lifecycle/reason.py, of the reason itself or of the end that it names
OF_ENDING = ("text", "message", "failure")
OF_REASON = (*OF_ENDING, "error", "name", "path", "problem", "source", *(("after", name) for name in OF_ENDING))


def contains(expression: Any, text: str) -> Condition:
    """Return the condition for values with `text` in them, in capitals or small letters."""
    found: Condition = expression.icontains(text, autoescape=True)
    return found


def run_has_text(text: str) -> Condition:
    """Return the condition for runs with `text` in a label, the reason or a field of the spec; capitals do not count.

    The labels are the run's notes and tags, and the name, description, notes and tags of its experiment.
    """
    tagged = select(RunTag.run_id).where(contains(RunTag.tag, text))
    return or_(
        contains(Run.notes, text),
        Run.id.in_(tagged),
        Run.experiment_id.in_(_experiments(text)),
        _in_fields(text),
        _in_reason(text),
    )


def _experiments(text: str) -> Any:
    tagged = select(ExperimentTag.experiment_id).where(contains(ExperimentTag.tag, text))
    in_columns = [contains(column, text) for column in OF_EXPERIMENT]
    return select(Experiment.id).where(or_(*in_columns, Experiment.id.in_(tagged)))


def _in_fields(text: str) -> Condition:
    """Return the condition for runs whose own field has the text, or without one the field of their experiment."""
    own = select(RunField.run_id.label("run_of_text")).where(contains(RunField.text, text))
    found, run = contains(ExperimentField.text, text), aliased(Run)
    of_path = select(RunField.run_id).where(RunField.path == ExperimentField.path)
    # most fields are alike in all runs: for these it suffices to look at the experiments
    for_all = select(ExperimentField.experiment_id).where(found, ~of_path.exists())
    inherited = select(run.id).join(ExperimentField, ExperimentField.experiment_id == run.experiment_id)
    inherited = inherited.where(found, of_path.exists(), ~of_path.where(RunField.run_id == run.id).exists())
    return or_(Run.id.in_(own), Run.experiment_id.in_(for_all), Run.id.in_(inherited))


def _in_reason(text: str) -> Condition:
    stored, reason = cast(Run.reason, String), type_coerce(Run.reason, JSON)
    in_json = contains(stored, json.dumps(text)[1:-1])
    in_texts = func.coalesce(or_(*(contains(reason[path].as_string(), text) for path in OF_REASON)), false())
    has_nul = stored.contains(r"\u0000", autoescape=True)  # PostgreSQL takes no value from such JSON
    # most reasons are decided by their JSON as a whole; in it a letter beyond ASCII is a number, which has no capitals
    may_have = in_json if text.isascii() else true()
    return and_(Run.reason.is_not(None), case((has_nul, in_json), (may_have, in_texts), else_=false()))
