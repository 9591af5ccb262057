"""Polynomial decay: g(e) = g_end + (g0 - g_end) (1 - (e - e0)/(E - e0))^p.

    unshifted   e0 = 0                  the LARS authors' Caffe (You et al., 2017): epochs from the run's start
    shifted     e0 = the warm-up's end  MLPerf's reference: the decay starts at g0

MLPerf divides by T - W + 1 steps (T: steps of the run, W: steps of the warm-up): its E is one step after the last step.
"""

import math

from trainers.schedules.schedule import Schedule


def polynomial(peak: Schedule, *, power: float, epochs: float, begin: float = 0.0, end_rate: float = 0.0) -> Schedule:
    """Return the schedule that decays from `peak` (g0) at epoch `begin` (e0) to `end_rate` at `epochs` (E)."""

    def rate(e: float) -> float:
        remaining = min(1.0, max(0.0, 1 - (e - begin) / (epochs - begin)))
        return end_rate + (peak(e) - end_rate) * math.pow(remaining, power)

    return rate
