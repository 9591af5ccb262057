"""Runs as tables: rows of plain values, and pandas DataFrames of runs, of groups of runs and of curves."""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, TypeVar

from bigbatch.errors import BigbatchError
from contract.api.curves import Column
from contract.api.objective import ShownObjective
from contract.api.responses import RunView
from contract.csv_cells import csv_text
from contract.metric_direction import Direction, direction_of
from contract.spec.grid.grid import Values
from contract.spec.grid.value_text import PARAMETERS, describe_value
from study.spread import OBJECTIVE, RUN_S, Group, run_seconds

T = TypeVar("T")
COLUMNS = ("id", "number", "state", "attempt", "step", "steps", "objective_value", "started_at", "ended_at")
RUN_COLUMNS = (*COLUMNS, RUN_S, "tags")  # that every run has
BEST_FIRST = ("objective", "best", "accuracy")  # orders
GROUP_COLUMNS = ("runs", "done")
CURVE_COLUMNS = ("id", "series", "step", "value")
PLAIN = (bool, int, float, str, type(None))


class NoPandas(BigbatchError):
    """pandas is not installed."""


Bests = Mapping[int, Mapping[str, float]]  # by the runs' ids the best value of each metric, by its name
NO_BESTS: Bests = {}


def rows_of(runs: Iterable[RunView], bests: Bests = NO_BESTS) -> list[dict[str, Any]]:
    """Return a row per run: its columns, the values of its point, its newest and its best metrics, and its tags."""
    return [
        {name: getattr(run, name) for name in COLUMNS}
        | {"state": run.state.value, RUN_S: run_seconds(run)}
        | plain_values(run.values)
        | {f"latest.{name}": value for name, value in run.latest.items()}
        | {f"best.{name}": value for name, value in bests.get(run.id, {}).items()}
        | {"tags": " ".join(run.tags)}
        for run in runs
    ]


def metrics_of(runs: Iterable[RunView]) -> list[str]:
    """Return the names of the metrics of runs that have a best value: by their names it is clear which one it is."""
    names = dict.fromkeys(name for run in runs for name in run.latest)
    return [name for name in names if direction_of(name) is not Direction.UNKNOWN]


def order_runs(
    runs: Sequence[RunView], order: str, bests: Bests = NO_BESTS, objective: ShownObjective | None = None
) -> list[RunView]:
    """Return the runs by a column of `rows_of`, ascending, or descending after `-`; runs without a value are last.

    A metric is found without `latest.`, its best value as `best(loss)` or `best.loss`, a program's parameter without
    `parameters.`; `objective` is the best run first, and so are `best` and `accuracy`, unless a run has this metric.
    Raise ValueError if no run has the column.
    """
    name, is_descending = order.removeprefix("-"), order.startswith("-")
    if name in BEST_FIRST and objective is not None and not any(name in run.latest for run in runs):
        name, is_descending = OBJECTIVE, is_descending is not (objective.goal == "max")
    if matched := re.fullmatch(r"best\((.+)\)", name):
        name = f"best.{matched[1]}"
    rows = rows_of(runs, bests)
    known = {column for row in rows for column in row}
    column = next((found for found in (name, f"latest.{name}", f"{PARAMETERS}{name}") if found in known), None)
    if rows and column is None:
        short = sorted(one.removeprefix("latest.").removeprefix(PARAMETERS) for one in known)
        raise ValueError(f"no run has {name!r}; the columns are {', '.join(short)}")
    return by_value(runs, [row.get(column) if column else None for row in rows], is_descending=is_descending)


def by_value(items: Sequence[T], values: Sequence[Any], *, is_descending: bool) -> list[T]:
    """Return the items in the order of their values; items without a value are last."""
    pairs = list(zip(values, items, strict=True))
    present = sorted((pair for pair in pairs if pair[0] is not None), key=_sort_key, reverse=is_descending)
    return [item for _, item in present] + [item for value, item in pairs if value is None]


def _sort_key(pair: tuple[Any, Any]) -> tuple[bool, Any]:
    """Order numbers before text, because a column may have both."""
    value, _ = pair
    return (True, str(value)) if not isinstance(value, int | float) else (False, value)


def rows_of_groups(groups: Iterable[Group]) -> list[dict[str, Any]]:
    """Return a row per group: its values, its runs, and of each figure mean, deviation, least and most."""
    rows = []
    for group in groups:
        row = {**plain_values(group.values), "runs": len(group.runs), "done": len(group.done)}
        for name, spread in group.spreads().items():
            parts = {"mean": spread.mean, "deviation": spread.deviation, "least": spread.least, "most": spread.most}
            row |= {f"{name}.{part}": value for part, value in parts.items()}
        rows.append(row)
    return rows


def rows_of_curves(runs: Iterable[tuple[RunView, Mapping[str, Column]]]) -> list[dict[str, Any]]:
    """Return a row per point of each series: the run's id and values, the name of the series, step and value."""
    return [
        {"id": run.id, **plain_values(run.values), "series": name, "step": step, "value": value}
        for run, series in runs
        for name, column in series.items()
        for step, value in zip(column.steps, column.values, strict=True)
    ]


def plain_values(values: Values) -> dict[str, Any]:
    """Return the values of a point with text in place of each part, because tables group and compare plain values."""
    return {path: value if isinstance(value, PLAIN) else describe_value(value) for path, value in values.items()}


def frame_of(rows: Sequence[dict[str, Any]], columns: Sequence[str], index: str | None = None) -> Any:
    """Return the rows as a pandas DataFrame, which has the columns also without rows; raise NoPandas."""
    frame = _pandas().DataFrame(rows) if rows else _pandas().DataFrame(columns=list(columns))
    return frame.set_index(index) if index else frame


def frame_of_csv(file: IO[bytes], types: Mapping[str, str]) -> Any:
    """Return a file that was just written as a pandas DataFrame with columns of these types; raise NoPandas."""
    file.seek(0)
    # names such as "NA" and "null" are texts
    numbers = {name: ["nan"] for name, kind in types.items() if kind.startswith("float")}
    frame = _pandas().read_csv(file, dtype=dict(types), keep_default_na=False, na_values=numbers)
    for name, kind in types.items():
        if kind == "str":
            frame[name] = frame[name].map(csv_text)
    return frame


def frame_of_columns(columns: Mapping[str, tuple[Sequence[int], Sequence[float | None]]]) -> Any:
    """Return steps and values by name as a pandas DataFrame with a row per step; raise NoPandas."""
    pandas = _pandas()
    series = {name: pandas.Series(values, steps, dtype="float64") for name, (steps, values) in columns.items()}
    frame = pandas.DataFrame(series)
    frame.index.name = "step"
    return frame


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise NoPandas("a frame needs pandas: pip install pandas (client.runs() needs nothing)") from error
