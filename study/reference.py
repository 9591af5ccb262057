"""MLPerf's reference convergence test: check that training does not converge faster than the reference can.

The source is the training rules of MLCommons (chapter and appendix on reference convergence points). Several runs with
different seeds give the epochs to the target; mean and deviation exclude the best and the worst run. A one-sided t-test
of two samples with equal variance decides whether a candidate is significantly faster than the reference:

    least mean = mean - t(p = 0.05; n + m - 2) s sqrt(1/n + 1/m)        n reference runs, m candidate runs, s deviation

Between two batch sizes mean and deviation are interpolated linearly.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from study.student import critical

P = 0.05


@dataclass(frozen=True)
class Reference:
    """The convergence of a reference with one batch size."""

    batch: int
    mean: float  # epochs
    deviation: float
    runs: int  # of the mean

    def least_mean(self, runs: int) -> float:
        """Return the lowest valid mean epochs of `runs` runs (without the best and the worst)."""
        t = critical(P, self.runs + runs - 2)
        return self.mean - t * self.deviation * math.sqrt(1 / self.runs + 1 / runs)


@dataclass(frozen=True)
class ConvergenceResult:
    """The result of the test."""

    passed: bool
    reason: str  # with the figures
    factor: float = 1.0  # for the candidate's time: reference mean / candidate mean if it was faster, else 1


def drop_extremes(epochs: Sequence[float]) -> list[float]:
    """Return the epochs to the target without the best and the worst run, sorted."""
    if len(epochs) < 3:
        raise ValueError(
            f"{len(epochs)} runs are too few, because the best and the worst are excluded; at least 3 are needed"
        )
    return sorted(epochs)[1:-1]


def reference(batch: int, epochs: Sequence[float]) -> Reference:
    """Return the reference for one `batch` from the epochs to the target of its runs."""
    selected = drop_extremes(epochs)
    return Reference(batch, statistics.fmean(selected), statistics.pstdev(selected), len(selected))


def interpolate(low: Reference, high: Reference, batch: int, *, runs: int) -> Reference:
    """Return the reference for a `batch` between two others, with the weight of `runs` runs."""
    x = (batch - low.batch) / (high.batch - low.batch)
    mean = low.mean + x * (high.mean - low.mean)
    return Reference(batch, mean, low.deviation + x * (high.deviation - low.deviation), runs)


def prune(references: Sequence[Reference]) -> list[Reference]:
    """Return the references that bound the convergence, by batch.

    A smaller batch does not converge more slowly. A reference that is slower than one with a larger batch, or slower
    than the line between its neighbors, was tuned insufficiently and is omitted.
    """
    ordered = sorted(references, key=lambda one: one.batch)
    fastest = min(ordered, key=lambda one: one.mean)
    hull: list[Reference] = []
    for point in (one for one in ordered if one.batch >= fastest.batch):
        while len(hull) > 1 and hull[-1].mean > interpolate(hull[-2], point, hull[-1].batch, runs=1).mean:
            hull.pop()
        hull.append(point)
    return hull


def judge(references: Sequence[Reference], batch: int, epochs: Sequence[float]) -> ConvergenceResult:
    """Test runs with `batch` and their `epochs` to the target; `math.inf` is a run that did not reach the target.

    Raises ValueError for fewer than three runs.
    """
    selected = drop_extremes(epochs)
    if math.inf in selected:
        return ConvergenceResult(False, "more than one run did not converge")
    ordered = sorted(references, key=lambda one: one.batch)
    at = _find_reference(ordered, batch, candidates=len(epochs))
    if at is None:
        return ConvergenceResult(
            False, f"there is no reference for a batch of at least {batch}: run the reference with {batch}"
        )
    mean, least = statistics.fmean(selected), at.least_mean(len(selected))
    figures = (
        f"{mean:.2f} epochs on average; the reference takes {at.mean:.2f}, below {least:.2f} is significantly faster"
    )
    if mean < least:
        return ConvergenceResult(False, figures + _hint(at, batch))
    return ConvergenceResult(True, figures, factor=max(1.0, at.mean / mean))


def _find_reference(ordered: list[Reference], batch: int, *, candidates: int) -> Reference | None:
    """Return the reference for a batch: exact, interpolated, or the smallest one for smaller batches."""
    below = [one for one in ordered if one.batch <= batch]
    above = [one for one in ordered if one.batch >= batch]
    if not above:
        return None
    if not below or below[-1].batch == batch:
        return above[0]
    return interpolate(below[-1], above[0], batch, runs=2 * candidates)


def _hint(at: Reference, batch: int) -> str:
    return "" if at.batch == batch else f"; this reference has a batch of {at.batch}: run the reference with {batch}"
