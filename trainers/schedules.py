"""Learning-rate schedules: pure functions of the run's progress in epochs.

The unit is epochs and not steps, so that a schedule does not depend on the batch size, also if the batch size changes
during the run. With a constant batch of s steps to an epoch the papers' t and T are steps: t = s e, T = s E, t/T = e/E.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

Schedule = Callable[[float], float]  # completed epochs, including a fraction -> the rate of the next step


def constant(rate: float) -> Schedule:
    """Return the schedule with the constant `rate`: g(e) = g0."""
    return lambda e: rate


def polynomial(peak: Schedule, *, power: float, epochs: float, begin: float = 0.0, end_rate: float = 0.0) -> Schedule:
    """Return the schedule that decays from `peak` (g0) at epoch `begin` (e0) to `end_rate` at `epochs` (E).

        g(e) = g_end + (g0 - g_end) (1 - (e - e0)/(E - e0))^p

        unshifted   e0 = 0                  the LARS authors' Caffe (You et al., 2017): epochs from the run's start
        shifted     e0 = the warm-up's end  MLPerf's reference: the decay starts at g0

    MLPerf divides by T - W + 1 steps (T: steps of the run, W: steps of the warm-up): its E is one step after the last
    step.
    """

    def rate(e: float) -> float:
        remaining = min(1.0, max(0.0, 1 - (e - begin) / (epochs - begin)))
        return end_rate + (peak(e) - end_rate) * math.pow(remaining, power)

    return rate


def cosine(peak: Schedule, *, epochs: float, begin: float = 0.0, end_rate: float = 0.0) -> Schedule:
    """Return the schedule that decays from `peak` (g0) at epoch `begin` (e0) to `end_rate` at `epochs` (E).

        g(e) = g_end + (g0 - g_end) (1 + cos(pi x)) / 2,  x = (e - e0)/(E - e0)

    (Loshchilov & Hutter, 2017, without restarts.) x goes from 0 at the warm-up's end e0 to 1 at the run's end
    (He et al., "Bag of Tricks", 2019).
    """

    def rate(e: float) -> float:
        x = min(1.0, max(0.0, (e - begin) / (epochs - begin)))
        return end_rate + (peak(e) - end_rate) * (1 + math.cos(math.pi * x)) / 2

    return rate


def step(peak: Schedule, *, milestones: Sequence[float], factor: float) -> Schedule:
    """Return the schedule `peak` times `factor` (f) per passed milestone; `milestones` are increasing epochs.

        g(e) = g0 f^k  with k passed milestones

    (Goyal et al., 2017: a tenth at epochs 30, 60 and 80.)
    """
    return lambda e: peak(e) * factor ** bisect_right(milestones, e)


def staged(stages: Sequence[tuple[float, float]]) -> Schedule:
    """Return the schedule of `stages`, pairs of a start epoch and a rate; the first start epoch is 0.

        g(e) = g_k  from epoch e_k on

    (Mikami et al., 2018, with a growing batch size.)
    """
    begins, rates = [begin for begin, _ in stages], [rate for _, rate in stages]
    if not stages or begins[0] != 0 or any(a >= b for a, b in pairwise(begins)):
        raise ValueError(f"start epochs must begin with 0 and increase, not {begins}")
    return lambda e: rates[bisect_right(begins, e) - 1]


def warmup(then: Schedule, *, peak: Schedule, start_rate: float, epochs: float, power: int = 1) -> Schedule:
    """Return the schedule that rises from `start_rate` (r0) to `peak` (g0) within `epochs` (W), followed by `then`.

        g(e) = r0 + (g0 - r0) (e/W)^q  for e < W  (Goyal et al., 2017)

    q = 1 is the linear warm-up of the papers; q = 2 the quadratic one in later versions of the LARS authors' Caffe. The
    other schedule counts epochs from the run's start: after a warm-up to g0 an unshifted polynomial continues at
    g0 (1 - W/E)^p, which is slightly lower.
    """

    def rate(e: float) -> float:
        return start_rate + (peak(e) - start_rate) * (e / epochs) ** power if e < epochs else then(e)

    return rate


def scale(reference: Schedule, batch: Callable[[float], int], *, reference_batch: int, power: float = 1.0) -> Schedule:
    """Return `reference`, the rates for `reference_batch`, scaled to the batch size B(e) at epoch e.

    g(e) = g_ref (B(e) / B_ref)^k

    k = 1     linear scaling (Krizhevsky, 2014; Goyal et al., 2017): the baseline of every large-batch method
    k = 1/2   square-root scaling (Krizhevsky, 2014; You et al., LAMB, 2020)
    """
    return lambda e: reference(e) * (batch(e) / reference_batch) ** power
