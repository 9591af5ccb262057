"""Rates scaled by the batch size: g(e) = g_ref (B(e) / B_ref)^k.

k = 1     linear scaling (Krizhevsky, 2014; Goyal et al., 2017): the baseline of every large-batch method
k = 1/2   square-root scaling (Krizhevsky, 2014; You et al., LAMB, 2020)
"""

from collections.abc import Callable

from trainers.schedules.schedule import Schedule


def scale(reference: Schedule, batch: Callable[[float], int], *, reference_batch: int, power: float = 1.0) -> Schedule:
    """Return `reference`, the rates for `reference_batch`, scaled to the batch size B(e) at epoch e."""
    return lambda e: reference(e) * (batch(e) / reference_batch) ** power
