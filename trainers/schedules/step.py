"""Step decay (Goyal et al., 2017: a tenth at epochs 30, 60 and 80): g(e) = g0 f^k, k the milestones passed."""

from bisect import bisect_right
from collections.abc import Sequence

from trainers.schedules.schedule import Schedule


def step(peak: Schedule, *, milestones: Sequence[float], factor: float) -> Schedule:
    """Return the schedule that is `peak` times `factor` (f) for every one of the rising `milestones`, in epochs."""
    return lambda e: peak(e) * factor ** bisect_right(milestones, e)
