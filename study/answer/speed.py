"""Times to one accuracy, and speed-ups over a baseline; study/comparison.py refuses those that would mislead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from contract.api.responses import RunView
from contract.lifecycle.state import State
from contract.spec.grid.equal_values import value_key
from study.answer.measures import Measures
from study.comparison import Comparison, Unfair, compare
from study.trial import Trial, trial

CLOSE = 0.9  # a common accuracy below this share of the best one compares runs that learned with runs that did not
MOST_REFUSALS = 3  # of one group


@dataclass(frozen=True)
class Speed:
    """How fast the runs of a group are."""

    speedup: float | None = None
    refusals: Sequence[str] = ()
    remarks: Sequence[str] = field(default=())


def trials_of(runs: Sequence[RunView], measures: Mapping[int, Measures]) -> dict[int, Trial]:
    """Return the trials of the runs that have measures."""
    return {
        run.id: trial(f"run {run.id}", run.state, measures[run.id].spec, measures[run.id].evaluations)
        for run in runs
        if run.id in measures
    }


def common_target(trials: Sequence[Trial]) -> float | None:
    """Return the highest accuracy, in hundredths of a percent, that all runs which are done reached.

    None if none was evaluated, or if it is far below the best: then a person chooses the target.
    """
    bests = [one.best for one in trials if one.state is State.DONE and one.best is not None]
    if not bests or min(bests) < CLOSE * max(bests):
        return None
    target = math.floor(1e4 * min(bests)) / 1e4
    target -= 1e-4 if target > min(bests) else 0.0  # the product was rounded up
    return target if target > 0 else None


def seconds_to(one: Trial, target: float) -> float | None:
    """Return the seconds of training until the accuracy; None if the run did not reach it or has no times."""
    mark = one.reached(target)
    return mark.seconds if mark and mark.seconds > 0 else None


def speed_over(
    baseline: Sequence[RunView], others: Sequence[RunView], trials: Mapping[int, Trial], target: float, over: str | None
) -> Speed:
    """Compare each run with the baseline's run of the same seed, else with its first run."""
    by_seed = {value_key(run.values.get(over or "")): run for run in reversed(baseline)}
    found: list[Comparison] = []
    refusals: dict[str, None] = {}
    for run in others:
        partner = by_seed.get(value_key(run.values.get(over or "")), baseline[0] if baseline else None)
        if partner is None or run.id not in trials or partner.id not in trials:
            continue
        try:
            found.append(compare(trials[partner.id], trials[run.id], target))
        except Unfair as error:
            refusals |= dict.fromkeys(error.reasons)
    if refusals or not found:
        return Speed(refusals=list(refusals)[:MOST_REFUSALS])
    speedup = fmean(one.baseline_at.seconds for one in found) / fmean(one.other_at.seconds for one in found)
    remarks = dict.fromkeys(remark for one in found for remark in one.remarks)
    return Speed(speedup, remarks=[remark for remark in remarks if len(others) == 1 or "one run of each" not in remark])
