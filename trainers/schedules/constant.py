"""One rate throughout: g(e) = g0."""

from trainers.schedules.schedule import Schedule


def constant(rate: float) -> Schedule:
    """Return the schedule that stays at `rate`."""
    return lambda e: rate
