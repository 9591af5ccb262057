"""Linear warm-up (Goyal et al., 2017): g(t) = r0 + (g0 - r0) t/N for t < N, then another schedule.

As in the LARS authors' Caffe the other schedule counts from the run's start as well, not from the warm-up's end:
after a warm-up to g0 a polynomial goes on at g0 (1 - N/T)^p, a small step down.
"""

from trainers.schedules.schedule import Schedule


def warmup(then: Schedule, *, start_rate: float, rate: float, steps: float) -> Schedule:
    """Return the schedule that climbs from `start_rate` to `rate` within `steps` steps (N), and is `then` after."""
    return lambda t: start_rate + (rate - start_rate) * t / steps if t < steps else then(t)
