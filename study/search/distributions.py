"""The parameters of a search as Optuna's distributions, and their values in both directions.

Optuna draws the index of a choice, and for a normal distribution the share of its mass below the value.
"""

from statistics import NormalDist
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from contract.spec.search.parameters import (
    Choice,
    Integer,
    LogInteger,
    LogUniform,
    Normal,
    Parameter,
    Uniform,
    has_value,
)

TAIL = 1e-9  # of the mass of a normal distribution without a bound, on each side


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """Return the distribution from which Optuna draws."""
    match parameter:
        case Uniform(low=low, high=high, step=step):
            return FloatDistribution(
                low, high if step is None else low + step * int((high - low) / step + 1e-9), step=step
            )
        case LogUniform(low=low, high=high):
            return FloatDistribution(low, high, log=True)
        case Integer(low=low, high=high, step=step):
            return IntDistribution(low, low + step * ((high - low) // step), step=step)
        case LogInteger(low=low, high=high):
            return IntDistribution(low, high, log=True)
        case Choice(values=values):
            return CategoricalDistribution(range(len(values)))
        case Normal():
            return FloatDistribution(*_mass(parameter))


def suggest(trial: Trial, path: str, parameter: Parameter) -> Any:
    """Return the value of a run's field that Optuna suggests for a trial."""
    match distribution_of(parameter):
        case FloatDistribution(low=low, high=high, step=step, log=log):
            drawn: Any = trial.suggest_float(path, low, high, step=step, log=log)
        case IntDistribution(low=low, high=high, step=step, log=log):
            drawn = trial.suggest_int(path, low, high, step=step, log=log)
        case CategoricalDistribution(choices=choices):
            drawn = trial.suggest_categorical(path, choices)
    return value_of(parameter, drawn)


def value_of(parameter: Parameter, drawn: Any) -> Any:
    """Return the value of a run's field for what Optuna drew."""
    match parameter:
        case Choice(values=values):
            return values[drawn]
        case Normal(mean=mean, deviation=deviation):
            low, high = _mass(parameter)
            value = NormalDist(mean, deviation).inv_cdf(min(max(drawn, low), high))
            return _between(value, parameter.low, parameter.high)
        case Uniform(step=step) if step is not None:
            return float(f"{drawn:.12g}")  # 0.3, not 0.30000000000000004
        case _:
            return drawn


def drawn_of(parameter: Parameter, value: Any) -> Any:
    """Return what Optuna would have drawn for the value of a run's field, within the bounds."""
    match parameter:
        case Choice(values=values):
            return next(index for index, own in enumerate(values) if has_value(Choice(values=[own]), value))
        case Normal(mean=mean, deviation=deviation):
            low, high = _mass(parameter)
            return min(max(NormalDist(mean, deviation).cdf(value), low), high)
        case Integer(low=low, step=step):
            return low + step * round((_between(value, low, parameter.high) - low) / step)
        case _:
            return _between(value, parameter.low, parameter.high)


def _mass(parameter: Normal) -> tuple[float, float]:
    """Return the share of the mass below the bounds."""
    normal = NormalDist(parameter.mean, parameter.deviation)
    low = TAIL if parameter.low is None else max(TAIL, normal.cdf(parameter.low))
    high = 1 - TAIL if parameter.high is None else min(1 - TAIL, normal.cdf(parameter.high))
    return (low, high) if low < high else (TAIL, 1 - TAIL)


def _between(value: float, low: float | None, high: float | None) -> float:
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)
