"""Cosine decay (Loshchilov & Hutter, 2017, without restarts): g(e) = g_end + (g0 - g_end) (1 + cos(pi x)) / 2.

x = (e - e0)/(E - e0) goes from 0 at the warm-up's end e0 to 1 at the run's end (He et al., "Bag of Tricks", 2019).
"""

import math

from trainers.schedules.schedule import Schedule


def cosine(peak: Schedule, *, epochs: float, begin: float = 0.0, end_rate: float = 0.0) -> Schedule:
    """Return the schedule that decays from `peak` (g0) at epoch `begin` (e0) to `end_rate` at `epochs` (E)."""

    def rate(e: float) -> float:
        x = min(1.0, max(0.0, (e - begin) / (epochs - begin)))
        return end_rate + (peak(e) - end_rate) * (1 + math.cos(math.pi * x)) / 2

    return rate
