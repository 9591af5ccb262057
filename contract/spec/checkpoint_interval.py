"""The best checkpoint interval (Young, 1974; Daly, 2006) between the cost of saving and the cost of repeated steps.

waste(t) = C/t + t/(2 M)            C: cost of a checkpoint, M: mean time between interruptions, t: interval
t_Young  = sqrt(2 C M)              minimizes waste(t)
t_Daly   = sqrt(2 C M) (1 + 1/3 sqrt(C/2M) + 1/9 C/2M) - C      for C < 2M, else M
"""

from math import sqrt


def young(cost_s: float, between_s: float) -> float:
    """Return Young's interval in seconds, for mean time `between_s` between interruptions."""
    _check_positive(cost_s, between_s)
    return sqrt(2 * cost_s * between_s)


def daly(cost_s: float, between_s: float) -> float:
    """Return Daly's interval in seconds, which is also accurate if `cost_s` is a large fraction of `between_s`."""
    _check_positive(cost_s, between_s)
    if cost_s >= 2 * between_s:
        return between_s
    x = cost_s / (2 * between_s)
    return sqrt(2 * cost_s * between_s) * (1 + sqrt(x) / 3 + x / 9) - cost_s


def waste(interval_s: float, cost_s: float, between_s: float) -> float:
    """Return the fraction of time lost to saving and repeated steps, to first order."""
    _check_positive(cost_s, between_s)
    if interval_s <= 0:
        raise ValueError(f"the interval must be above 0 s, not {interval_s:g} s")
    return cost_s / interval_s + interval_s / (2 * between_s)


def _check_positive(cost_s: float, between_s: float) -> None:
    if cost_s <= 0 or between_s <= 0:
        raise ValueError(
            f"cost and mean time between interruptions must be above 0 s, not {cost_s:g} s and {between_s:g} s"
        )
