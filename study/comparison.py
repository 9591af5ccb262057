"""A fair comparison of two runs (after Iandola et al., FireCaffe, 2015).

A speed-up is reported with its baseline, the accuracy that both runs reached, and every setting in which they differ.
The comparison is refused if the runs solve different problems or one of them did not reach the accuracy. Larger
batches, other rates, other optimizers and more epochs are allowed: a run may be tuned for its scale, but not trade
accuracy for time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contract.differences import differences
from contract.lifecycle.state import State
from contract.spec.choices.data import Synthetic
from contract.spec.run import RunSpec
from study.trial import Mark, Trial

SAME = ("model", "data")  # runs with another net or data set solve another problem


class Unfair(ValueError):
    """A misleading comparison; each of `reasons` is a sentence with the figures."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Comparison:
    """Two runs compared at the same accuracy."""

    baseline: Trial
    other: Trial
    accuracy: float
    baseline_at: Mark  # the evaluation that reached the accuracy
    other_at: Mark
    differences: dict[str, tuple[Any, Any]]  # dotted path of a setting -> values of the baseline and of the other run
    remarks: list[str]  # facts that a reader must know to interpret the speed-up

    @property
    def speedup(self) -> float:
        """Return the baseline's time to the accuracy divided by the other run's time."""
        return self.baseline_at.seconds / self.other_at.seconds


def compare(baseline: Trial, other: Trial, accuracy: float | None = None) -> Comparison:
    """Compare the times to `accuracy`, by default the baseline's best; raise Unfair if that is misleading."""
    reasons = list(_find_reasons(baseline, other))
    target = baseline.best if accuracy is None else accuracy
    if target is not None:
        reasons += [_shortfall(one, target) for one in (baseline, other) if one.best is not None and one.best < target]
    if reasons:
        raise Unfair(reasons)
    assert target is not None
    first, second = baseline.reached(target), other.reached(target)
    assert first is not None
    assert second is not None
    if not (first.seconds > 0 and second.seconds > 0):
        raise Unfair(["the training time was not recorded"])
    found = differences(baseline.spec.model_dump(mode="json"), other.spec.model_dump(mode="json"))
    by_path = {one.path: (one.first, one.second) for one in found}
    return Comparison(baseline, other, target, first, second, by_path, list(_remarks(baseline, other)))


def _find_reasons(baseline: Trial, other: Trial) -> Iterator[str]:
    if baseline.name == other.name:
        yield f"{baseline.name} is compared with itself"
    for one in (baseline, other):
        if one.state is not State.DONE:
            yield f"{one.name} is {one.state}, not done"
        elif one.best is None:
            yield f"{one.name} was never evaluated: a speed-up needs an accuracy"
    programs = [one.name for one in (baseline, other) if not isinstance(one.spec, RunSpec)]
    for name in programs:
        yield f"{name} is of a program, whose net and data are not known: `bigbatch diff` shows how two runs differ"
    for field in () if programs else SAME:
        a, b = getattr(baseline.spec, field), getattr(other.spec, field)
        for path, old, new in differences({field: a.model_dump(mode="json")}, {field: b.model_dump(mode="json")}):
            yield f"the runs solve different problems: {path} is {old} in {baseline.name}, {new} in {other.name}"


def _shortfall(one: Trial, accuracy: float) -> str:
    return f"{one.name} never reached an accuracy of {100 * accuracy:.2f} %: its best is {100 * (one.best or 0):.2f} %"


def _remarks(baseline: Trial, other: Trial) -> Iterator[str]:
    ranks = baseline.spec.resources.world
    if ranks > 1:
        yield f"the baseline has {ranks} ranks: this is not a speed-up over one rank"
    if baseline.spec.resources.kind != other.spec.resources.kind:
        yield "the runs used different kinds of resources"
    if isinstance(baseline.spec, RunSpec) and isinstance(baseline.spec.data, Synthetic):
        yield "the data are synthetic: their accuracies do not transfer to other data"
    yield "there is one run of each: repeat both with other seeds before you rely on the speed-up"
