"""Step decay (Goyal et al., 2017: a tenth at epochs 30, 60 and 80): g(e) = g0 f^k with k passed milestones."""

from bisect import bisect_right
from collections.abc import Sequence

from trainers.schedules.schedule import Schedule


def step(peak: Schedule, *, milestones: Sequence[float], factor: float) -> Schedule:
    """Return the schedule `peak` times `factor` (f) per passed milestone; `milestones` are increasing epochs."""
    return lambda e: peak(e) * factor ** bisect_right(milestones, e)
