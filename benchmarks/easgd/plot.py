"""The plot of the EASGD benchmark: accuracy against time, and the parts of a step's time."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from contract import metric_names

PLOT = Path(__file__).parents[2] / "docs" / "images" / "easgd.png"
LINES = ["Original EASGD", "Async EASGD", "Sync EASGD 1", "Sync EASGD 2", "Sync EASGD 3", "Async SGD", "Sync SGD"]
COLORS = {
    metric_names.COMPUTE_S: "#5b72d0",
    metric_names.UPDATE_S: "#8a5fb5",
    metric_names.COMMUNICATION_S: "#c97524",
    metric_names.INPUT_S: "#5d9683",
    metric_names.IDLE_S: "#a3a3ad",
}


def plot(rows: Sequence[dict[str, Any]], points: Sequence[dict[str, Any]], *, target: float) -> None:
    """Draw both panels with means over the seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (curves, bars) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    curves.axhline(100 * target, color="0.6", linewidth=0.8, linestyle=":")
    for method in LINES:
        own = [row for row in rows if row["method"] == method]
        seconds = [mean(at) for at in zip(*(row["trained_s"] for row in own), strict=True)]
        accuracies = [100 * mean(at) for at in zip(*(row["accuracies"] for row in own), strict=True)]
        curves.plot(seconds, accuracies, marker=".", linestyle="--" if "EASGD" not in method else "-", label=method)
    curves.set_xscale("log")
    curves.set_ylim(bottom=60)
    curves.set_xlabel("seconds of training")
    curves.set_ylabel("held-out accuracy, %")
    curves.legend(frameon=False, fontsize="small")
    order = [point["method"] for point in sorted(points, key=lambda point: -point["step_s"])]
    left = [0.0] * len(order)
    for part, color in COLORS.items():
        widths = [1e3 * mean(row["parts_s"][part] for row in rows if row["method"] == method) for method in order]
        bars.barh(order, widths, left=left, color=color, label=part.removesuffix("_s"))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    bars.set_xlabel("time per step, ms")
    bars.legend(frameon=False, fontsize="small")
    for axes in (curves, bars):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PLOT, dpi=150)
