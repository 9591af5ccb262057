"""How often to save (Young, 1974; Daly, 2006): checkpoints cost time, and so does what an interruption undoes.

waste(t) = C/t + t/(2 M)            C one checkpoint's cost, M mean time between interruptions, t the interval
t_Young  = sqrt(2 C M)              where that is least
t_Daly   = sqrt(2 C M) (1 + 1/3 sqrt(C/2M) + 1/9 C/2M) - C      for C < 2M, else M
"""

from math import sqrt


def young(cost_s: float, between_s: float) -> float:
    """The best interval in seconds when a checkpoint costs `cost_s` and an interruption comes every `between_s`."""
    _refuse_none(cost_s, between_s)
    return sqrt(2 * cost_s * between_s)


def daly(cost_s: float, between_s: float) -> float:
    """Daly's higher-order estimate, which holds where a checkpoint's cost is no small part of `between_s` as well."""
    _refuse_none(cost_s, between_s)
    if cost_s >= 2 * between_s:
        return between_s
    x = cost_s / (2 * between_s)
    return sqrt(2 * cost_s * between_s) * (1 + sqrt(x) / 3 + x / 9) - cost_s


def waste(interval_s: float, cost_s: float, between_s: float) -> float:
    """The share of the time that saving every `interval_s` and repeating lost work take, to first order."""
    _refuse_none(cost_s, between_s)
    if interval_s <= 0:
        raise ValueError(f"an interval is above 0 s, not {interval_s:g}")
    return cost_s / interval_s + interval_s / (2 * between_s)


def _refuse_none(cost_s: float, between_s: float) -> None:
    if cost_s <= 0 or between_s <= 0:
        raise ValueError(f"cost and mean time between interruptions are above 0 s, not {cost_s:g} and {between_s:g}")
