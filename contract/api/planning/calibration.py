"""The calibration of a plan: from the measured time parts of runs' steps, the speed of a rank and a step's fixed time.

A step's computing time is a line in the samples of a rank, t = f + b s. Runs with different batches determine both; one
batch alone determines b = t / s with f = 0. The update of the weights and the wait for input are fixed times as well.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.api.planning.plans import Calibration
from contract.metric_names import COMPUTE_S, INPUT_S, UPDATE_S

LEAST_SAMPLE_S = 1e-9  # where more samples take no longer
PARTS = (COMPUTE_S, UPDATE_S, INPUT_S)


@dataclass(frozen=True)
class StepTimes:
    """The times of a run's step: its samples of a rank, the computing time, and the times of update and input."""

    samples: float
    compute_s: float
    other_s: float


def step_times(series: Mapping[str, Sequence[float | None]], samples: float, *, period: int = 1) -> StepTimes | None:
    """Return the times of a run from its series; None without measured computing times.

    They are medians; means where a rule's exchange, and so its update, is in one of `period` steps.
    """
    take = statistics.median if period == 1 else statistics.fmean
    parts = {name: [value for value in series.get(name, ()) if value is not None] for name in PARTS}
    computing = [value for value in parts[COMPUTE_S] if value > 0]
    if not computing:
        return None
    other_s = sum(take(values) for name in (UPDATE_S, INPUT_S) if (values := parts[name]))
    return StepTimes(samples, take(computing), other_s)


def calibrate(runs: Sequence[StepTimes], *, source: str = "") -> Calibration:
    """Return the speed and the fixed time: the line with the least squares through the computing times."""
    samples, times = [run.samples for run in runs], [run.compute_s for run in runs]
    fixed_s = 0.0
    if len(set(samples)) > 1:
        line = statistics.linear_regression(samples, times)
        sample_s, fixed_s = max(line.slope, LEAST_SAMPLE_S), max(line.intercept, 0.0)
    else:
        sample_s = statistics.fmean(times) / samples[0]
    return Calibration(
        samples_per_s=1 / sample_s,
        fixed_s=fixed_s + statistics.fmean(run.other_s for run in runs),
        source=source,
    )
