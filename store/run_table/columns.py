"""The columns that every run has: their names, kinds and expressions."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import isfinite
from typing import Any

from sqlalchemy import Float, bindparam, case, cast, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from store.tables.base import now
from store.tables.column_types import UtcDateTime
from store.tables.experiments import Experiment
from store.tables.runs import Job, Run
from store.tables.steps import Step


class Kind(StrEnum):
    """What the values of a field are, and so how they are compared."""

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    MOMENT = "moment"
    ANY = "any"  # a field of a spec: numbers or texts


class SecondsBetween(FunctionElement[float]):
    """The seconds from one moment to a later one, which each database computes by its own functions.

    Null if the other one is not later: a clock was set back between them, so the time is not known.
    """

    type = Float()
    inherit_cache = True


@compiles(SecondsBetween, "sqlite")
def _in_sqlite(element: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    start, end = (compiler.process(clause, **options) for clause in element.clauses)
    seconds = f"((julianday({end}) - julianday({start})) * 86400.0)"
    return f"(CASE WHEN {seconds} >= 0 THEN {seconds} END)"


@compiles(SecondsBetween, "postgresql")
def _in_postgresql(element: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    start, end = (compiler.process(clause, **options) for clause in element.clauses)
    seconds = f"CAST(extract(epoch FROM ({end}) - ({start})) AS DOUBLE PRECISION)"
    return f"(CASE WHEN {seconds} >= 0 THEN {seconds} END)"


@dataclass(frozen=True, eq=False)  # an expression of SQL has no equality
class BuiltIn:
    """A column that every run has."""

    name: str
    kind: Kind
    title: str  # what a list of the names says
    expression: Any  # of SQL
    table: type[Run] | type[Experiment] | type[Job] = Run  # job: the current one
    choices: tuple[str, ...] = ()
    can_be_null: bool = False


IN_UTC = "; a query's time is UTC, unless it names its zone: 2026-11-26T08:00+01:00"
CURRENT_START = select(Job.started_at).where(Job.id == Run.current_job_id).correlate(Run).scalar_subquery()
YES_OR_NO = ("true", "false")
MOMENT = "table_moment"
STEP_NAME = select(Step.name).where(Step.id == Run.step_id).scalar_subquery()


def built_ins() -> dict[str, BuiltIn]:
    """Return the columns that every run has; those that count the time use the present moment.

    A statement may be given another moment by the parameter MOMENT.
    """
    moment = bindparam(MOMENT, now(), UtcDateTime())
    ended = func.coalesce(Run.ended_at, moment)
    begun = func.coalesce(Run.started_at, ended)
    # what an attempt that goes on has run so far is added to the attempts before it
    so_far = func.coalesce(Run.ran_s, 0.0) + func.coalesce(SecondsBetween(CURRENT_START, moment), 0.0)
    ran = case((Run.state == State.RUNNING, so_far), else_=Run.ran_s)
    progress = cast(Run.step, Float) / func.nullif(Run.steps, 0)
    diverged = case((Run.diverged.is_(None), "false"), else_="true")
    states, causes = tuple(map(str, State)), tuple(map(str, ExitCause))
    columns = (
        BuiltIn("id", Kind.NUMBER, "id of the run", Run.id),
        BuiltIn("experiment", Kind.NUMBER, "id of the experiment", Run.experiment_id),
        BuiltIn("name", Kind.TEXT, "name of the experiment", Experiment.name, Experiment),
        BuiltIn("number", Kind.NUMBER, "place in the experiment's grid", Run.number),
        BuiltIn("step_name", Kind.TEXT, "name of the run's step in a workflow", STEP_NAME, can_be_null=True),
        BuiltIn("state", Kind.TEXT, "state of the run", Run.state, choices=states),
        BuiltIn("cause", Kind.TEXT, "why the latest attempt ended", Job.exit_cause, Job, causes, can_be_null=True),
        BuiltIn("diverged", Kind.TEXT, "whether a metric is NaN or infinite to its end", diverged, choices=YES_OR_NO),
        BuiltIn("owner", Kind.TEXT, "owner of the experiment", Experiment.owner, Experiment),
        BuiltIn("project", Kind.TEXT, "project of the experiment", Experiment.project, Experiment),
        BuiltIn("notes", Kind.TEXT, "notes on the run", Run.notes),
        BuiltIn("cluster", Kind.TEXT, "cluster of the run's jobs", Run.cluster),
        BuiltIn("world", Kind.NUMBER, "number of ranks", Run.world),
        BuiltIn("attempt", Kind.NUMBER, "number of the latest attempt", Run.attempt),
        BuiltIn("step", Kind.NUMBER, "newest stored step", Run.step),
        BuiltIn("steps", Kind.NUMBER, "number of steps of the whole run", Run.steps),
        BuiltIn("progress", Kind.NUMBER, "share of the steps, 0 to 1", progress, can_be_null=True),
        BuiltIn("created", Kind.MOMENT, f"when the run was stored{IN_UTC}", Run.created_at),
        BuiltIn("started", Kind.MOMENT, f"when the first attempt began{IN_UTC}", Run.started_at, can_be_null=True),
        BuiltIn("ended", Kind.MOMENT, f"when the run ended{IN_UTC}", Run.ended_at, can_be_null=True),
        BuiltIn("duration", Kind.DURATION, "time for which its attempts ran", ran, can_be_null=True),
        BuiltIn(
            "waited", Kind.DURATION, "time before the start", SecondsBetween(Run.created_at, begun), can_be_null=True
        ),
    )
    return {column.name: column for column in columns}


# shorter names of fields of the spec
ALIASES = {
    "partition": "resources.partition",
    "nodes": "resources.nodes",
    "account": "resources.account",
    "qos": "resources.qos",
}


def plain(value: object) -> float | int | str | bool | None:
    """Return a value of a column as JSON has it."""
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


def shown(value: float | int | str | bool | None) -> float | int | str | bool | None:
    """Return a cell for JSON, which has no NaN and no infinities: as their words, which queries have as well."""
    return value if not isinstance(value, float) or isfinite(value) else str(value)
