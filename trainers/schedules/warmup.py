"""Warm-up (Goyal et al., 2017): g(e) = r0 + (g0 - r0) (e/W)^q for e < W, then another schedule.

q = 1 is the line of the papers; q = 2 the parabola that the LARS authors' Caffe took up later. The other schedule
counts epochs from the run's start: after a warm-up to g0 an unshifted polynomial goes on at g0 (1 - W/E)^p, a small
step down.
"""

from trainers.schedules.schedule import Schedule


def warmup(then: Schedule, *, peak: Schedule, start_rate: float, epochs: float, power: int = 1) -> Schedule:
    """Return the schedule that climbs from `start_rate` to `peak` (g0) within `epochs` (W), and is `then` after."""

    def rate(e: float) -> float:
        return start_rate + (peak(e) - start_rate) * (e / epochs) ** power if e < epochs else then(e)

    return rate
