"""The result of each cell: its accuracies over the seeds, and its differences to the small batch and to SGD."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.batch_scaling import tuning
from benchmarks.batch_scaling.intervals import Interval, difference, finding, interval
from benchmarks.batch_scaling.problems import PROBLEMS, SCALED, SEEDS, TUNING_SEED, Cell, Trial, cells_of, spec_of
from benchmarks.batch_scaling.runs import Key, Rows, missing_trials, tuned
from contract.spec.run import RunSpec


@dataclass(frozen=True)
class Point:
    """A measured cell: the trial that tuning chose, and the accuracies of the other seeds."""

    cell: Cell
    chosen: Trial
    at_edge: bool  # the trial is at the edge of the search, so a better one may be outside
    steps: int
    accuracies: tuple[float, ...]

    @property
    def accuracy(self) -> Interval:
        """The mean over the seeds with its interval."""
        return interval(self.accuracies)


def measured_points(problem: str, rows: Rows) -> list[Point]:
    """Return a point for each cell whose tuning and measurement are complete."""
    return [point for cell in cells_of(problem) if (point := measured_point(cell, rows))]


def measured_point(cell: Cell, rows: Rows) -> Point | None:
    """Return the point of a cell; None if one of its runs is missing."""
    reference = cell._replace(method="sgd", batch=PROBLEMS[cell.problem].smallest)
    if cell.method == SCALED and missing_trials(reference, rows):
        return None
    if missing_trials(cell, rows):
        return None
    chosen = tuning.best(tuned(cell, rows))
    keys = [Key(cell, chosen, seed) for seed in SEEDS]
    if not all(key in rows for key in keys):
        return None
    at_edge = cell.method != SCALED and tuning.is_at_edge(cell.method, chosen)
    steps = RunSpec.model_validate(spec_of(cell, chosen, TUNING_SEED)).steps
    return Point(cell, chosen, at_edge, steps, tuple(rows[key]["accuracy"] for key in keys))


def baseline_of(points: Sequence[Point]) -> Point | None:
    """Return the point with the highest mean at the problem's smallest batch; None if there is none."""
    small = [point for point in points if point.cell.batch == PROBLEMS[point.cell.problem].smallest]
    return max(small, key=lambda point: point.accuracy.mean, default=None)


def finding_of(point: Point, baseline: Point) -> str:
    """Return whether a point holds the baseline's accuracy; "baseline" for the baseline itself."""
    return "baseline" if point is baseline else finding(difference(point.accuracies, baseline.accuracies))


def largest_holding(points: Sequence[Point], method: str, baseline: Point) -> int:
    """Return the largest batch up to which every mean is within one point of the baseline's; 0 if there is none."""
    largest = 0
    for point in sorted((p for p in points if p.cell.method == method), key=lambda p: p.cell.batch):
        if point.accuracy.mean < baseline.accuracy.mean - 0.01:
            break
        largest = point.cell.batch
    return largest


def to_json(point: Point, baseline: Point, points: Sequence[Point]) -> dict[str, Any]:
    """Return a point with its intervals, for the report."""
    sgd = next((p for p in points if p.cell == point.cell._replace(method="sgd")), None)
    return {
        **{name: value for name, value in point.cell._asdict().items() if name != "problem"},
        **point.chosen._asdict(),
        "at_edge": point.at_edge,
        "steps": point.steps,
        "accuracies": point.accuracies,
        "accuracy": asdict(point.accuracy),
        "to_baseline": asdict(difference(point.accuracies, baseline.accuracies)),
        "finding": finding_of(point, baseline),
        "to_sgd": asdict(difference(point.accuracies, sgd.accuracies)) if sgd and sgd is not point else None,
    }
