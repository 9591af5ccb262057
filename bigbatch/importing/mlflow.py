"""What the import reads of MLflow, wherever that has its runs."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from bigbatch.errors import BigbatchError

Point = tuple[int, float, float]  # step, value, moment in seconds since 1970


class NoMlflow(BigbatchError):
    """There is no MLflow where the import looks for it."""

    exit_code = 2


class MlflowExperiment(NamedTuple):
    """An experiment of MLflow."""

    id: str
    name: str


class MlflowRun(NamedTuple):
    """What MLflow stores of a run, besides its metrics."""

    id: str
    name: str
    started_ms: int | None
    ended_ms: int | None
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: list[str]


class MlflowStore(Protocol):
    """Where MLflow has its runs."""

    def experiments(self) -> Iterator[MlflowExperiment]:
        """Yield the experiments that are not deleted."""

    def runs(self, experiment: MlflowExperiment) -> Iterator[MlflowRun]:
        """Yield the runs of an experiment that are not deleted."""

    def points(self, run: MlflowRun, metric: str) -> Iterator[Point]:
        """Yield the points of a metric."""


def number_of(value: Any) -> float:
    """Return a value of a metric; MLflow writes NaN and infinities as texts."""
    return float(value) if value is not None else math.nan
