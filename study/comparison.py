"""A fair comparison of two runs (after Iandola et al., FireCaffe, 2015).

A speed-up is told with its baseline, the accuracy that both reached, and every choice in which they differ; it is
refused where they did not learn the same thing, or one never became so accurate. Larger batches, other rates and
optimizers, more epochs are allowed: to retune for scale is the method, to trade accuracy for time is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contract.lifecycle.state import State
from contract.spec.choices.data import Synthetic
from study.trial import Mark, Trial

SAME = ("model", "data")  # another net or data set is another problem


class Unfair(ValueError):
    """A comparison that would mislead; `reasons` says why, each with its figures."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Comparison:
    """Two runs on their way to the same accuracy."""

    baseline: Trial
    other: Trial
    accuracy: float
    baseline_at: Mark  # where each reached it
    other_at: Mark
    differences: dict[str, tuple[Any, Any]]  # dotted path of a choice -> the baseline's and the other's
    remarks: list[str]  # what a reader must know beside the figure

    @property
    def speedup(self) -> float:
        """The baseline's time to the accuracy over the other's."""
        return self.baseline_at.seconds / self.other_at.seconds


def compare(baseline: Trial, other: Trial, accuracy: float | None = None) -> Comparison:
    """Compare the times to `accuracy`, the baseline's best where none is given; raises Unfair."""
    reasons = list(_obstacles(baseline, other))
    target = baseline.best if accuracy is None else accuracy
    if target is not None:
        reasons += [_short_of(one, target) for one in (baseline, other) if one.best is not None and one.best < target]
    if reasons:
        raise Unfair(reasons)
    assert target is not None
    first, second = baseline.reached(target), other.reached(target)
    assert first is not None
    assert second is not None
    if not (first.seconds > 0 and second.seconds > 0):
        raise Unfair(["the time until then was not recorded"])
    differences = dict(_differences(baseline.spec.model_dump(mode="json"), other.spec.model_dump(mode="json")))
    return Comparison(baseline, other, target, first, second, differences, list(_remarks(baseline, other)))


def _obstacles(baseline: Trial, other: Trial) -> Iterator[str]:
    if baseline.name == other.name:
        yield f"{baseline.name} is compared with itself"
    for one in (baseline, other):
        if one.state is not State.DONE:
            yield f"{one.name} is {one.state}, not done"
        elif one.best is None:
            yield f"{one.name} was never evaluated: a speed-up without an accuracy says nothing"
    for field in SAME:
        a, b = getattr(baseline.spec, field), getattr(other.spec, field)
        for path, (old, new) in _differences({field: a.model_dump(mode="json")}, {field: b.model_dump(mode="json")}):
            yield f"they solve different problems: {path} is {old} in {baseline.name}, {new} in {other.name}"


def _short_of(one: Trial, accuracy: float) -> str:
    return f"{one.name} never reached an accuracy of {100 * accuracy:.2f} %: its best is {100 * (one.best or 0):.2f} %"


def _differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The leaves in which two documents differ, by dotted path; a choice of another kind is one difference."""
    both = isinstance(old, dict) and isinstance(new, dict)
    if both and old.get("kind") == new.get("kind"):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield path, (old, new)


def _remarks(baseline: Trial, other: Trial) -> Iterator[str]:
    ranks = baseline.spec.resources.world
    if ranks > 1:
        yield f"the baseline has {ranks} ranks: this is no speed-up over a single one"
    if baseline.spec.resources.kind != other.spec.resources.kind:
        yield "the runs were on different machines"
    if isinstance(baseline.spec.data, Synthetic):
        yield "the data are synthetic: accuracies on them mean little elsewhere"
    yield "one run each: repeat both with other seeds before you rely on the figure"
