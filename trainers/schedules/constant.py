"""Constant rate: g(e) = g0."""

from trainers.schedules.schedule import Schedule


def constant(rate: float) -> Schedule:
    """Return the schedule with the constant `rate`."""
    return lambda e: rate
