"""Mean and spread over runs that differ in one field alone, usually the seed.

The deviation is the sample's: sqrt(sum (x - mean)^2 / (n - 1)) for n runs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from contract.api.responses import RunView
from contract.lifecycle.state import State
from contract.spec.grid.dotted_paths import known_path
from contract.spec.grid.equal_values import value_key
from contract.spec.grid.grid import Values

OBJECTIVE, RUN_S = "objective_value", "run_s"


@dataclass(frozen=True)
class Spread:
    """The values of one figure over the runs of a group."""

    count: int
    mean: float
    deviation: float | None  # None for one value
    least: float
    most: float


@dataclass(frozen=True)
class Group:
    """Runs whose points are equal but for the field that repeats them."""

    values: Values  # those that the runs share
    runs: Sequence[RunView]

    @property
    def done(self) -> list[RunView]:
        """The runs that are done: a run's figures count only then."""
        return [run for run in self.runs if run.state is State.DONE]

    def spreads(self) -> dict[str, Spread]:
        """Return mean and spread of each figure that a run of the group has."""
        figures: dict[str, list[float]] = {}
        for run in self.done:
            for name, value in figures_of(run).items():
                figures.setdefault(name, []).append(value)
        return {name: spread_of(values) for name, values in figures.items()}


def group_runs(runs: Sequence[RunView], over: str) -> list[Group]:
    """Return the groups of runs that differ in the field `over` alone, in the order of their first runs.

    Raise ValueError if no run has this field as a value of its point. A program's parameter needs no `parameters.`.
    """
    varied = dict.fromkeys(path for run in runs for path in run.values)
    over = known_path(over, varied)
    if runs and over not in varied:
        raise ValueError(f"the runs do not vary {over}; they vary {', '.join(varied) or 'nothing'}")
    groups: dict[str, tuple[Values, list[RunView]]] = {}
    for run in runs:
        shared = {path: value for path, value in run.values.items() if path != over}
        groups.setdefault(value_key(shared), (shared, []))[1].append(run)
    return [Group(values, members) for values, members in groups.values()]


def figures_of(run: RunView) -> dict[str, float]:
    """Return the finite figures of a run: its value of the objective, its seconds, the newest value of each series."""
    figures: Mapping[str, Any] = {OBJECTIVE: run.objective_value, RUN_S: run_seconds(run)}
    figures = {**figures, **{f"latest.{name}": value for name, value in run.latest.items()}}
    return {name: float(value) for name, value in figures.items() if value is not None and math.isfinite(value)}


def run_seconds(run: RunView) -> float | None:
    """Return the seconds for which the attempts of an ended run ran; None before its end, or if that is not known."""
    return None if run.ended_at is None else run.ran_s


def spread_of(values: Sequence[float]) -> Spread:
    """Return mean and spread of at least one value."""
    deviation = stdev(values) if len(values) > 1 else None
    return Spread(len(values), fmean(values), deviation, min(values), max(values))


def repeated_field(runs: Sequence[RunView]) -> str | None:
    """Return the grid's field that is a seed and has several values: `seed` or `parameters.seed`; None without one."""
    for path in ("seed", "parameters.seed"):
        if len({value_key(run.values[path]) for run in runs if path in run.values}) > 1:
            return path
    return None
