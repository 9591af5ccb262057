"""A learning-rate schedule: a pure function of the steps that were taken before."""

from collections.abc import Callable

Schedule = Callable[[float], float]  # steps taken so far -> the rate of the next step
