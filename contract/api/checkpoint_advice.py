"""Advice on the checkpoint interval, from observed interruptions and checkpoint costs.

With n interruptions in T seconds, the mean time between two interruptions is T/n. Interruptions are modelled as a
Poisson process. The 95 % confidence limits of its mean count are (Byar's approximation; Breslow & Day, 1987, section
2.3; z = 1.96):
    n (1 - 1/(9 n) - z/(3 sqrt n))^3    and, with m = n + 1,    m (1 - 1/(9 m) + z/(3 sqrt m))^3
"""

from math import sqrt
from typing import Any

from pydantic import Field

from contract.described_model import DescribedModel
from contract.spec.checkpoint_interval import daly, waste

MIN_INTERRUPTIONS = 3  # fewer interruptions give only a lower limit of the time between interruptions
Z = 1.96


class CheckpointHistory(DescribedModel):
    """Observed checkpoints and interruptions of an experiment's runs with the same number of ranks."""

    world: int = Field(examples=[8])
    """Number of ranks per run."""
    runs: int = Field(examples=[3])
    """Number of runs with this number of ranks."""
    trained_s: float = Field(examples=[86400.0])
    """Training time of all runs together, in wall-clock seconds."""
    interruptions: int = Field(examples=[4])
    """Number of attempts that ended early and lost steps."""
    paused: int = Field(examples=[1])
    """Number of attempts that ended early and lost no steps."""
    lost_steps: int = Field(examples=[800])
    """Number of steps that later attempts repeated."""
    saves: int = Field(examples=[140])
    """Number of complete checkpoints."""
    cost_s: float | None = Field(examples=[1.5])
    """Mean time for which training waited for a checkpoint, in seconds; null before the first checkpoint."""
    write_s: float | None = Field(examples=[12.0])
    """Mean time until a checkpoint was complete, in seconds; null before the first checkpoint."""
    interval_s: float | None = Field(examples=[600.0])
    """The interval of the spec, in seconds; null if the interval is in steps or epochs."""


class Advice(CheckpointHistory):
    """The best interval, or why there is no advice."""

    between_s: float | None = Field(examples=[21600.0])
    """Mean time between two interruptions, in seconds; null without an interruption."""
    between_least_s: float | None = Field(examples=[8438.0])
    """Lower 95 % confidence limit of `between_s`; null before training."""
    between_most_s: float | None = Field(examples=[80480.0])
    """Upper 95 % confidence limit of `between_s`; null without an interruption."""
    best_s: float | None = Field(examples=[254.0])
    """The best interval, in seconds; null if there is no advice."""
    not_below_s: float | None = Field(examples=[158.0])
    """With too few interruptions for advice, a lower limit of the best interval, in seconds; else null."""
    waste: float | None = Field(examples=[0.016])
    """Fraction of time lost to saving and repeated steps with the interval of the spec; null if not known."""
    best_waste: float | None = Field(examples=[0.012])
    """Fraction of time lost to saving and repeated steps with the best interval; null if there is no advice."""
    why: str | None = Field(examples=["fewer than 3 interruptions are too few for an estimate of their rate"])
    """Why there is no advice; null if there is."""


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
