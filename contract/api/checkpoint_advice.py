"""How often to save, from what was seen: interruptions in so many hours, and what a checkpoint cost.

Of n interruptions in T hours the mean time between two is T/n. Interruptions are taken for a Poisson process, whose
count lies between these with 95 % (Byar's approximation; Breslow & Day, 1987, section 2.3; z = 1.96):
    n (1 - 1/(9 n) - z/(3 sqrt n))^3    and, with m = n + 1,    m (1 - 1/(9 m) + z/(3 sqrt m))^3
"""

from math import sqrt
from typing import Any

from pydantic import BaseModel

from contract.spec.checkpoint_interval import daly, waste

FEW = 3  # fewer interruptions say how long the time between them is at least, and no more
Z = 1.96


class Seen(BaseModel):
    """What happened to the runs of an experiment that are of one size."""

    world: int  # ranks of each
    runs: int
    trained_s: float  # by all of them together, as the clock has it
    interruptions: int  # that undid steps
    paused: int  # ends before their time that undid none
    lost_steps: int
    saves: int
    cost_s: float | None  # for which training waited, on average; None before the first checkpoint
    write_s: float | None  # until it was whole
    interval_s: float | None  # as the spec has it; None where it counts steps or epochs


class Advice(Seen):
    """The best interval, where enough was seen to tell, or why it can't be told."""

    between_s: float | None  # mean time between interruptions
    between_least_s: float | None  # with 95 %
    between_most_s: float | None
    best_s: float | None  # save so often
    not_below_s: float | None  # where too few were seen: more often than this would not pay
    waste: float | None  # share of the time that saving and repeating take with the interval that is set
    best_waste: float | None
    why: str | None  # there is no advice


def advise(seen: Seen) -> Advice:
    """Weigh what was seen by Daly's formula."""
    least, most = _bounds(seen.interruptions)
    told: dict[str, Any] = {
        **dict.fromkeys(Advice.model_fields.keys() - Seen.model_fields.keys()),
        "between_s": seen.trained_s / seen.interruptions if seen.interruptions else None,
        "between_least_s": seen.trained_s / most if seen.trained_s else None,
        "between_most_s": seen.trained_s / least if least else None,
    }
    advice = Advice(**seen.model_dump(), **told)
    return advice.model_copy(update=_weighed(advice))


def _weighed(seen: Advice) -> dict[str, float | str | None]:
    if not seen.cost_s or not seen.between_least_s:
        return {"why": "no checkpoint has been written yet, so nobody knows what one costs"}
    if seen.interruptions < FEW or seen.between_s is None:
        why = f"fewer than {FEW} interruptions are too few to say how often they come"
        return {"not_below_s": _interval(seen, seen.between_least_s), "why": why}
    best_s = _interval(seen, seen.between_s)
    now = waste(seen.interval_s, seen.cost_s, seen.between_s) if seen.interval_s else None
    return {"best_s": best_s, "waste": now, "best_waste": waste(best_s, seen.cost_s, seen.between_s)}


def _interval(seen: Seen, between_s: float) -> float:
    """Daly's, but no shorter than writing one takes: the next cannot begin before."""
    assert seen.cost_s is not None
    return max(daly(seen.cost_s, between_s), seen.write_s or 0.0)


def _bounds(n: int) -> tuple[float, float]:
    least = n * (1 - 1 / (9 * n) - Z / (3 * sqrt(n))) ** 3 if n else 0.0
    m = n + 1
    return least, m * (1 - 1 / (9 * m) + Z / (3 * sqrt(m))) ** 3
