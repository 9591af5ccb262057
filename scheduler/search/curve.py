"""The values of a curve at the resources of comparisons. Pure functions of the points."""

from bisect import bisect_right
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from contract.metric_names import EPOCH, TRAINED_S
from contract.spec.search.early_stopping import Unit

SLACK = 1e-6  # of an epoch or a second: sums of fractions
AXES = {"epochs": EPOCH, "seconds": TRAINED_S, "rank_seconds": TRAINED_S}  # the series whose values are the resource


class Curve(NamedTuple):
    """A series by its steps; None stands for a value that is not a finite number."""

    steps: Sequence[int]
    values: Sequence[float | None]


class Reached(NamedTuple):
    """The value at a comparison; None: the newest value there was not finite."""

    value: float | None


def axis_of(unit: Unit) -> str | None:
    """Return the series whose values are the resource; None where the resource is the step."""
    return AXES.get(unit)


def value_at(metric: Curve, axis: Curve | None, resource: float, *, best: bool, maximizes: bool) -> Reached | None:
    """Return the value of a run at a resource; None if it has not got there.

    `best`: the best value up to there, else the newest one. `axis`: the resource by steps; None: the step itself.
    """
    step = _step_at(metric, axis, resource)
    if step is None or not metric.steps:
        return None
    end = max(1, bisect_right(metric.steps, step))  # without an evaluation up to there the first one counts
    newest = metric.values[end - 1]
    if newest is None or not isfinite(newest):
        return Reached(None)
    finite = [value for value in metric.values[:end] if value is not None and isfinite(value)]
    return Reached((max if maximizes else min)(finite) if best else newest)


def _step_at(metric: Curve, axis: Curve | None, resource: float) -> int | None:
    """Return the step at which a run has the resource; None if it has not got there."""
    if axis is None:
        return int(resource) if metric.steps and metric.steps[-1] >= resource else None
    for step, value in zip(axis.steps, axis.values, strict=True):
        if value is not None and value >= resource - SLACK:
            return step
    return None
