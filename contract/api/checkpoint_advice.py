"""Advice on the checkpoint interval, from observed interruptions and checkpoint costs.

With n interruptions in T seconds, the mean time between two interruptions is T/n. Interruptions are modelled as a
Poisson process. The 95 % confidence limits of its mean count are (Byar's approximation; Breslow & Day, 1987, section
2.3; z = 1.96):
    n (1 - 1/(9 n) - z/(3 sqrt n))^3    and, with m = n + 1,    m (1 - 1/(9 m) + z/(3 sqrt m))^3
"""

from math import sqrt
from typing import Any

from pydantic import BaseModel

from contract.spec.checkpoint_interval import daly, waste

MIN_INTERRUPTIONS = 3  # fewer interruptions give only a lower limit of the time between interruptions
Z = 1.96


class CheckpointHistory(BaseModel):
    """Observed checkpoints and interruptions of an experiment's runs with the same number of ranks."""

    world: int  # ranks per run
    runs: int
    trained_s: float  # training time of all runs together, in wall-clock seconds
    interruptions: int  # attempts that ended early and lost steps
    paused: int  # attempts that ended early and lost no steps
    lost_steps: int
    saves: int
    cost_s: float | None  # mean time for which training waited; None before the first checkpoint
    write_s: float | None  # mean time until a checkpoint was complete
    interval_s: float | None  # the spec's interval; None if the interval is in steps or epochs


class Advice(CheckpointHistory):
    """The best interval, or why there is no advice."""

    between_s: float | None  # mean time between two interruptions
    between_least_s: float | None  # lower 95 % confidence limit
    between_most_s: float | None  # upper 95 % confidence limit
    best_s: float | None  # the best interval
    not_below_s: float | None  # with too few interruptions: a lower limit of the best interval
    waste: float | None  # fraction of time lost to saving and repeated steps, with the spec's interval
    best_waste: float | None
    why: str | None  # why there is no advice


def advise_interval(history: CheckpointHistory) -> Advice:
    """Return advice on the checkpoint interval by Daly's formula (Daly, 2006)."""
    least, most = _bounds(history.interruptions)
    estimates: dict[str, Any] = {
        **dict.fromkeys(Advice.model_fields.keys() - CheckpointHistory.model_fields.keys()),
        "between_s": history.trained_s / history.interruptions if history.interruptions else None,
        "between_least_s": history.trained_s / most if history.trained_s else None,
        "between_most_s": history.trained_s / least if least else None,
    }
    advice = Advice(**history.model_dump(), **estimates)
    return advice.model_copy(update=_weigh(advice))


def _weigh(history: Advice) -> dict[str, float | str | None]:
    if not history.cost_s or not history.between_least_s:
        return {"why": "no checkpoint has been written yet, so the cost of a checkpoint is unknown"}
    if history.interruptions < MIN_INTERRUPTIONS or history.between_s is None:
        why = f"fewer than {MIN_INTERRUPTIONS} interruptions are too few for an estimate of their rate"
        return {"not_below_s": _interval(history, history.between_least_s), "why": why}
    best_s = _interval(history, history.between_s)
    now = waste(history.interval_s, history.cost_s, history.between_s) if history.interval_s else None
    return {"best_s": best_s, "waste": now, "best_waste": waste(best_s, history.cost_s, history.between_s)}


def _interval(history: CheckpointHistory, between_s: float) -> float:
    """Return Daly's interval, at least the write time: the next checkpoint cannot start earlier."""
    assert history.cost_s is not None
    return max(daly(history.cost_s, between_s), history.write_s or 0.0)


def _bounds(n: int) -> tuple[float, float]:
    least = n * (1 - 1 / (9 * n) - Z / (3 * sqrt(n))) ** 3 if n else 0.0
    m = n + 1
    return least, m * (1 - 1 / (9 * m) + Z / (3 * sqrt(m))) ** 3
