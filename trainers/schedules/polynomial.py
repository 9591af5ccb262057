"""Polynomial decay to zero (You et al., 2017): g(t) = g0 (1 - t/T)^p, with t counted from the run's start."""

from trainers.schedules.schedule import Schedule


def polynomial(rate: float, *, power: float, steps: int) -> Schedule:
    """Return the schedule that decays from `rate` to 0 over `steps` steps (T), and stays there."""
    return lambda t: rate * max(0.0, 1 - t / steps) ** power
