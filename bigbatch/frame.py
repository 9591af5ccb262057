"""Runs as a table: rows of plain values, and a pandas DataFrame."""

import importlib
from collections.abc import Iterable
from typing import Any

from bigbatch.errors import BigbatchError
from contract.api.responses import RunView

COLUMNS = ("id", "number", "state", "attempt", "step", "steps", "best_accuracy", "started_at", "ended_at")


class NoPandas(BigbatchError):
    """pandas is not installed."""


def rows_of(runs: Iterable[RunView]) -> list[dict[str, Any]]:
    """Return a row per run: its columns, the values of its point by dotted path, its newest metrics and its tags."""
    return [
        {name: getattr(run, name) for name in COLUMNS}
        | run.values
        | {f"latest.{name}": value for name, value in run.latest.items()}
        | {"tags": " ".join(run.tags)}
        for run in runs
    ]


def frame_of(runs: Iterable[RunView]) -> Any:
    """Return the runs as a pandas DataFrame with their ids as index; raise NoPandas."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise NoPandas("a frame needs pandas: pip install pandas (client.runs() needs nothing)") from error
    frame = pandas.DataFrame(rows_of(runs))
    return frame.set_index("id") if len(frame) else frame
