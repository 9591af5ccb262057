"""The report: tables in Markdown with intervals and the effort of each method, and a JSON file with every run."""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.batch_scaling.intervals import Interval, difference
from benchmarks.batch_scaling.points import Point, baseline_of, finding_of, largest_holding, measured_points, to_json
from benchmarks.batch_scaling.problems import EPOCHS, PROBLEMS, SEEDS, TUNING_SEED, WARMUPS, Trial, cells_of, spec_of
from benchmarks.batch_scaling.runs import Rows

REPORT = Path(__file__).parents[1] / "results" / "batch_scaling.json"


def text(name: str, rows: Rows) -> str:
    """Return the tables of one problem, or a sentence if its small batch is not measured yet."""
    points = measured_points(name, rows)
    if (baseline := baseline_of(points)) is None:
        return f"{name}: not measured"
    lines = [f"## {name}", "", *_accuracy_table(name, points, baseline), "", *_against_sgd(points)]
    for method in _methods(points):
        largest = largest_holding(points, method, baseline)
        lines.append(f"- {method}: means within one point of {percent(baseline.accuracy)} % up to {largest}")
    lines += ["", *_effort_table(name, rows)]
    if missing := missing_cells(name, points):
        lines += ["", f"Not measured: {', '.join(f'{method} at {batch}' for method, batch in missing)}."]
    return "\n".join(lines)


def percent(value: Interval, *, sign: str = "") -> str:
    """Return a mean and its half width in percent."""
    return f"{100 * value.mean:{sign}.1f} ± {100 * value.half:.1f}"


def _accuracy_table(name: str, points: Sequence[Point], baseline: Point) -> list[str]:
    methods = _methods(points)
    lines = [f"| batch | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for batch in PROBLEMS[name].batches:
        at = {point.cell.method: point for point in points if point.cell.batch == batch}
        lines.append(f"| {batch:,} | {' | '.join(_entry(at.get(method), baseline) for method in methods)} |")
    return lines


def _entry(point: Point | None, baseline: Point) -> str:
    if point is None:
        return ""
    edge = ", at the edge" if point.at_edge else ""
    at = f"{point.chosen.rate:g}, {point.chosen.warmup:g}"
    return f"{percent(point.accuracy)} {finding_of(point, baseline)} ({at}{edge})"


def _against_sgd(points: Sequence[Point]) -> list[str]:
    sgd = {point.cell.batch: point for point in points if point.cell.method == "sgd"}
    lines = []
    for method in _methods(points)[1:]:
        own = [point for point in points if point.cell.method == method and point.cell.batch in sgd]
        found = {point.cell.batch: difference(point.accuracies, sgd[point.cell.batch].accuracies) for point in own}
        shown = "; ".join(f"{batch:,}: {percent(value, sign='+')}" for batch, value in found.items())
        lines.append(f"- {method} minus sgd: {shown}")
    return lines


def _effort_table(name: str, rows: Rows) -> list[str]:
    lines = ["| method | tuning runs at each batch | other seeds | seconds of training |", "|---|---|---|---|"]
    for method, own in effort(name, rows).items():
        runs = ", ".join(map(str, sorted(set(own["tuning"].values()))))
        lines.append(f"| {method} | {runs} | {own['measured']} | {own['seconds']:.0f} |")
    return lines


def effort(name: str, rows: Rows) -> dict[str, dict[str, Any]]:
    """Return for each method the tuning runs at each batch, and the runs with other seeds and seconds of all."""
    found: dict[str, dict[str, Any]] = {}
    for key, row in rows.items():
        if key.cell.problem == name:
            own = found.setdefault(key.cell.method, {"tuning": {}, "measured": 0, "seconds": 0.0})
            own["seconds"] += row["seconds"]
            if key.seed == TUNING_SEED:
                own["tuning"][key.cell.batch] = own["tuning"].get(key.cell.batch, 0) + 1
            else:
                own["measured"] += 1
    return found


def missing_cells(name: str, points: Sequence[Point]) -> list[tuple[str, int]]:
    """Return method and batch of each cell that is not measured completely."""
    done = {point.cell for point in points}
    return [(cell.method, cell.batch) for cell in cells_of(name) if cell not in done]


def _methods(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(point.cell.method for point in points))


def write(rows: Rows) -> None:
    """Write the JSON file with every point, every run and an example of each method's spec."""
    problems = {name: found for name in PROBLEMS if (found := _problem_json(name, rows))}
    report: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.system()}, one core a run"}
    report |= {"python": platform.python_version(), "torch": torch.__version__}
    report |= {"epochs": EPOCHS, "tuning_seed": TUNING_SEED, "seeds": SEEDS, "warmups": WARMUPS}
    REPORT.write_text(json.dumps({**report, "problems": problems, "rows": list(rows.values())}, indent=1) + "\n")


def _problem_json(name: str, rows: Rows) -> dict[str, Any] | None:
    points = measured_points(name, rows)
    if (baseline := baseline_of(points)) is None:
        return None
    first = {point.cell.method: point for point in points}
    return {
        "baseline": {"method": baseline.cell.method, "batch": baseline.cell.batch},
        "points": [to_json(point, baseline, points) for point in points],
        "means_within_one_point_to": {m: largest_holding(points, m, baseline) for m in _methods(points)},
        "effort": effort(name, rows),
        "not_measured": missing_cells(name, points),
        "specs": {m: spec_of(p.cell, Trial(*p.chosen), SEEDS[0]) for m, p in first.items()},
    }
