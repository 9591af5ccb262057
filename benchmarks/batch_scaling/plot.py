"""The plot: accuracy against batch with intervals, a panel for each problem, on white for light and dark pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.batch_scaling.points import Point, baseline_of

PLOT = Path(__file__).parents[2] / "docs" / "images" / "batch-scaling.png"
STYLES = {  # color, marker, offset of the points, so that intervals do not hide each other
    "sgd": ("#c97524", "o", 0.96),
    "sgd, linear scaling": ("#9a9aa5", "s", 0.92),
    "lars": ("#3f5bd0", "^", 1.0),
    "lars, batch control": ("#2f8f6b", "v", 1.04),
    "lamb": ("#8a3fb5", "D", 1.08),
}


def plot(panels: Mapping[str, Sequence[Point]]) -> None:
    """Draw the problems that are measured at their smallest batch."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, row = plt.subplots(
        1, len(panels), figsize=(1.2 + 3.6 * len(panels), 4.2), layout="constrained", squeeze=False, facecolor="white"
    )
    for axes, (name, points) in zip(row[0], panels.items(), strict=True):
        baseline = baseline_of(points)
        assert baseline
        top = 100 * baseline.accuracy.mean
        axes.axhline(top - 1, color="0.55", linewidth=0.9, linestyle=":")
        for method, (color, marker, offset) in STYLES.items():
            own = [point for point in points if point.cell.method == method]
            if not own:
                continue
            batches = [offset * point.cell.batch for point in own]
            means, halves = ([100 * value for value in values] for values in zip(*map(_ends, own), strict=True))
            line: dict[str, Any] = {"color": color, "marker": marker, "markersize": 4, "capsize": 2, "linewidth": 1.4}
            axes.errorbar(batches, means, halves, label=method, **line)
        ticks = sorted({point.cell.batch for point in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(batch) for batch in ticks])
        axes.set_ylim(max(0.0, min(top - 5, *(100 * p.accuracy.mean - 2 for p in points), 100)), top + 2)
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("global batch")
        axes.spines[["top", "right"]].set_visible(False)
    row[0][0].set_ylabel("held-out accuracy after 32 epochs, %")
    row[0][0].legend(frameon=False, loc="lower left", fontsize="small")
    figure.savefig(PLOT, dpi=160)


def _ends(point: Point) -> tuple[float, float]:
    return point.accuracy.mean, point.accuracy.half
