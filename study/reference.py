"""MLPerf's reference convergence test: did training need too few epochs to be the same training?

After the training rules of MLCommons (chapter and appendix on reference convergence points). Several runs with other
seeds give the epochs to the target; the best and the worst are left out of mean and deviation. Runs of a candidate may
be faster than the reference's by as much as chance allows: a one-sided t-test of two samples of like variance,

    least mean = mean - t(p = 0.05; n + m - 2) s sqrt(1/n + 1/m)        n reference runs, m candidate runs, s deviation

Between two batches mean and deviation lie on a line, with n the reference's full count.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from study.student import critical

P = 0.05


@dataclass(frozen=True)
class Reference:
    """How fast a reference converges with one batch."""

    batch: int
    mean: float  # epochs
    deviation: float
    runs: int  # that entered the mean

    def least_mean(self, runs: int) -> float:
        """The fewest epochs that `runs` runs may need on average (the best and the worst are not among them)."""
        t = critical(P, self.runs + runs - 2)
        return self.mean - t * self.deviation * math.sqrt(1 / self.runs + 1 / runs)


@dataclass(frozen=True)
class Verdict:
    passed: bool
    reason: str  # with the sum
    factor: float = (
        1.0  # times that the candidate's time counts: where it was faster than the reference, mean / its mean
    )


def inner(epochs: Sequence[float]) -> list[float]:
    """The epochs to the target without the best and the worst."""
    if len(epochs) < 3:
        raise ValueError(f"{len(epochs)} runs without the best and the worst are none; at least 3 are needed")
    return sorted(epochs)[1:-1]


def reference(batch: int, epochs: Sequence[float]) -> Reference:
    """Return what runs of the reference with one `batch` say, which took `epochs` to the target."""
    kept = inner(epochs)
    return Reference(batch, statistics.fmean(kept), statistics.pstdev(kept), len(kept))


def between(low: Reference, high: Reference, batch: int, *, runs: int) -> Reference:
    """Return what the reference would have done with a `batch` between two others, judged as `runs` runs."""
    x = (batch - low.batch) / (high.batch - low.batch)
    mean = low.mean + x * (high.mean - low.mean)
    return Reference(batch, mean, low.deviation + x * (high.deviation - low.deviation), runs)


def pruned(references: Sequence[Reference]) -> list[Reference]:
    """Return those that bound how fast the reference can converge, by batch.

    A smaller batch converges no slower, so what is slower than a larger batch, or than the line between two neighbors,
    was tuned less well and is left out.
    """
    ordered = sorted(references, key=lambda one: one.batch)
    fastest = min(ordered, key=lambda one: one.mean)
    hull: list[Reference] = []
    for point in (one for one in ordered if one.batch >= fastest.batch):
        while len(hull) > 1 and hull[-1].mean > between(hull[-2], point, hull[-1].batch, runs=1).mean:
            hull.pop()
        hull.append(point)
    return hull


def judge(references: Sequence[Reference], batch: int, epochs: Sequence[float]) -> Verdict:
    """Judge runs with `batch`, which took `epochs` to the target, by `references`; `math.inf` for one that never did.

    Raises ValueError for fewer than three runs.
    """
    kept = inner(epochs)
    if math.inf in kept:
        return Verdict(False, "more than one run did not converge")
    ordered = sorted(references, key=lambda one: one.batch)
    at = _at(ordered, batch, candidates=len(epochs))
    if at is None:
        return Verdict(False, f"there is no reference for a batch of {batch} or more: run the reference with it")
    mean, least = statistics.fmean(kept), at.least_mean(len(kept))
    sum_ = f"{mean:.2f} epochs on average; the reference takes {at.mean:.2f}, and less than {least:.2f} is not chance"
    if mean < least:
        return Verdict(False, sum_ + _hint(at, batch))
    return Verdict(True, sum_, factor=max(1.0, at.mean / mean))


def _at(ordered: list[Reference], batch: int, *, candidates: int) -> Reference | None:
    """The reference for a batch: its own, the line between its neighbors, or, below all, the smallest's."""
    below = [one for one in ordered if one.batch <= batch]
    above = [one for one in ordered if one.batch >= batch]
    if not above:
        return None
    if not below or below[-1].batch == batch:
        return above[0]
    return between(below[-1], above[0], batch, runs=2 * candidates)


def _hint(at: Reference, batch: int) -> str:
    return "" if at.batch == batch else f"; that is of batch {at.batch}: run the reference with {batch}"
