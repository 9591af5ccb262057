"""K-FAC against SGD, LARS and LAMB, tuned alike, from three seeds; and the cost of its step.

    python -m benchmarks.kfac [--workers 2] [--kept FILE] [--problems NAME ...] [--periods N]
                              [--cases NAME ...] [--no-report]

Each method is tuned on each problem with a seed of its own (to_target.py): five rates, up to three more where the best
is at an edge, and at the best rate two warm-ups, or for K-FAC two dampings. K-FAC's clip and intervals are the same for
all problems. The report says for each problem what a method needs to reach the accuracy of SGD, in epochs and in
seconds of training, as multiples of SGD's. Runs in FILE are not repeated.
"""

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.kfac.problems import KFAC, METHODS, PROBLEMS, SEEDS, spec_of
from benchmarks.kfac.step_cost import CASES, measure
from benchmarks.kfac.to_target import Evaluations, compare, tune
from benchmarks.small_runs import execute_runs

REPORT = Path(__file__).parents[1] / "results" / "kfac.json"
FIELDS = ("epoch", "heldout_accuracy", "trained_s")


def execute(specs: Sequence[dict[str, Any]], *, workers: int, finished: Path) -> list[Evaluations]:
    """Return the evaluations of each run; runs in `finished` are not repeated, and new ones are added to it."""
    lines = finished.read_text().splitlines() if finished.exists() else []
    known: dict[str, Evaluations] = dict(json.loads(line) for line in lines)
    names = [json.dumps(spec, sort_keys=True) for spec in specs]
    missing = {name: spec for name, spec in zip(names, specs, strict=True) if name not in known}
    for name, evaluations in zip(missing, execute_runs(list(missing.values()), workers=workers), strict=True):
        known[name] = [{field: evaluation.get(field) for field in FIELDS} for evaluation in evaluations]
        with finished.open("a") as file:
            file.write(json.dumps([name, known[name]]) + "\n")
    return [known[name] for name in names]


def run_problem(problem: str, *, workers: int, finished: Path) -> dict[str, Any]:
    """Tune and measure all methods on a problem, and print its table."""
    tuned = tune(problem, partial(execute, workers=workers, finished=finished))
    cases = [(name, seed) for name in METHODS for seed in SEEDS]
    specs = [spec_of(problem, name, tuned.methods[name].best(tuned.target), seed) for name, seed in cases]
    results = execute(specs, workers=workers, finished=finished)
    of_method: dict[str, list[Evaluations]] = {name: [] for name in METHODS}
    for (name, _), evaluations in zip(cases, results, strict=True):
        of_method[name].append(evaluations)
    row = compare(problem, tuned, of_method)
    print(f"{problem}: {row['what']}; target {row['target']:.2%}")
    for name, of in row["methods"].items():
        choice = (
            f"{of['rate']:g}"
            + (", at an edge" if of["is_at_edge"] else "")
            + (f", {of['other']}" if of["other"] else "")
        )
        print(
            f"  {name:5} rate {choice}: {of['accuracy']:.2%} +- {of['accuracy_stdev']:.2%}; target after "
            f"{of['epochs_to_target']:.1f} epochs ({of['epochs_by_sgd']:.2f} x SGD), {of['seconds_to_target']:.2f} s "
            f"({of['seconds_by_sgd']:.2f} x SGD), by {of['reached']} of {len(SEEDS)}",
            flush=True,
        )
    return row


def main() -> None:
    """Execute what is missing, print the tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, dest="finished", help="file of finished runs, which are not repeated")
    parser.add_argument("--problems", nargs="*", choices=[*PROBLEMS, []], default=list(PROBLEMS), help="by default all")
    parser.add_argument("--periods", type=int, default=2, help="of 100 steps, of the measurement of a step's cost")
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, default=list(CASES), help="of a step's cost; by default all"
    )
    parser.add_argument("--no-report", action="store_true", help="print, and write no report")
    options = parser.parse_args()
    finished = options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    rows = [run_problem(name, workers=options.workers, finished=finished) for name in options.problems]
    torch.set_num_threads(1)
    costs = [measure(name, options.periods) for name in options.cases] if options.periods else []
    for cost in costs:
        for method, found in cost["kfac"].items():
            parts = ", ".join(f"{part} {1e3 * spent:.2f} ms" for part, spent in found["parts_s"].items())
            print(f"{cost['case']}, {method}: {found['by_sgd']:.2f} x SGD's {1e3 * cost['sgd_s']:.2f} ms; {parts}")
    if options.no_report:
        return
    versions = {"python": platform.python_version(), "torch": torch.__version__, "system": platform.system()}
    # what is not measured now stays
    before = json.loads(REPORT.read_text()) if REPORT.exists() else {"problems": [], "step_cost": []}
    rows = [row for row in before["problems"] if row["problem"] not in options.problems] + rows
    costs = [cost for cost in before["step_cost"] if cost["case"] not in [new["case"] for new in costs]] + costs
    report = {"versions": versions, "kfac": KFAC, "problems": rows, "step_cost": costs}
    REPORT.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
