"""Warm-up (Goyal et al., 2017): g(e) = r0 + (g0 - r0) (e/W)^q for e < W, then another schedule.

q = 1 is the linear warm-up of the papers; q = 2 the quadratic one in later versions of the LARS authors' Caffe. The
other schedule counts epochs from the run's start: after a warm-up to g0 an unshifted polynomial continues at
g0 (1 - W/E)^p, which is slightly lower.
"""

from trainers.schedules.schedule import Schedule


def warmup(then: Schedule, *, peak: Schedule, start_rate: float, epochs: float, power: int = 1) -> Schedule:
    """Return the schedule that rises from `start_rate` to `peak` (g0) within `epochs` (W), followed by `then`."""

    def rate(e: float) -> float:
        return start_rate + (peak(e) - start_rate) * (e / epochs) ** power if e < epochs else then(e)

    return rate
