"""The accuracy against the batch at 32 epochs: SGD, SGD with linear scaling, LARS, LARS with batch control, LAMB.

    python -m benchmarks.batch_scaling [--workers 2] [--kept FILE] [--problems NAME ...] [--methods NAME ...]
                                       [--batches N ...] [--report | --cost | --quick]

Every method is tuned alike at every batch: seven runs with one seed choose rate and warm-up (tuning.py); three other
seeds measure the choice. Linear scaling has the rate of SGD at the smallest batch times the ratio of the batches, and
chooses the warm-up alone. The report has 95 % intervals, and the effort of each method.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from benchmarks.batch_scaling import problems, report
from benchmarks.batch_scaling.plot import plot
from benchmarks.batch_scaling.points import baseline_of, measured_points
from benchmarks.batch_scaling.problems import (
    EPOCHS,
    OPTIMIZERS,
    PROBLEMS,
    RATES,
    SCALED,
    SEEDS,
    WARMUPS,
    Cell,
    Trial,
    cells_of,
    spec_of,
)
from benchmarks.batch_scaling.runs import measure_cell, read_rows
from benchmarks.small_runs import execute_run
from contract import metric_names

TIMED = 3  # epochs of a timed run; the first is not counted
TUNING_RUNS = 7


def print_costs(names: list[str]) -> None:
    """Print the seconds of one run at each batch, and of all runs of each problem on one core."""
    for name in names:
        problem = PROBLEMS[name]
        by_batch = {batch: run_seconds(name, batch) for batch in problem.batches}
        total = sum(
            (TUNING_RUNS if cell.method != SCALED else len(WARMUPS)) * seconds + len(SEEDS) * seconds
            for cell in problems.cells_of(name)
            for seconds in [by_batch[cell.batch]]
        )
        shown = ", ".join(f"{batch}: {seconds:.1f}" for batch, seconds in by_batch.items())
        print(f"{name}: seconds a run {shown}; all runs {total:.0f}", flush=True)


def run_seconds(name: str, batch: int) -> float:
    """Return the seconds of a run of one batch with SGD and its evaluations, from a run of a few epochs."""
    spec = spec_of(Cell(name, "sgd", batch), Trial(RATES["sgd"][0], 1.0), 0) | {"epochs": TIMED}
    start = time.perf_counter()
    evaluations = execute_run(spec)
    whole = time.perf_counter() - start
    first, last = (evaluations[index][metric_names.TRAINED_S] or 0.0 for index in (0, -1))
    return (whole - last) + EPOCHS * (last - first) / (TIMED - 1)


def execute_cells(cells: Sequence[Cell], workers: int, finished: Path) -> None:
    """Tune and measure the cells, as many at the same time as there are workers, one method after the other."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        # linear scaling needs SGD's choice, so no method begins before the one before it has ended
        for _, group in groupby(cells, key=lambda cell: (cell.problem, cell.method)):
            list(pool.map(partial(measure_cell, finished=finished), group))


def main() -> None:
    """Execute what is missing, print the tables, and write report and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, dest="finished", help="file of finished runs, which are not repeated")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="by default all")
    parser.add_argument("--methods", nargs="+", choices=OPTIMIZERS, default=list(OPTIMIZERS), help="by default all")
    parser.add_argument("--batches", nargs="+", type=int, help="by default those of each problem")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--report", action="store_true", help="report the finished runs, and execute none")
    only.add_argument("--cost", action="store_true", help="print the time that the runs would take on one core")
    only.add_argument("--quick", action="store_true", help="SGD at the largest batch of the problems, without a report")
    options = parser.parse_args()
    if options.cost:
        print_costs(options.problems)
        return
    finished = options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    cells = [cell for name in options.problems for cell in cells_of(name) if cell.method in options.methods]
    if options.batches:
        cells = [cell for cell in cells if cell.batch in options.batches]
    if options.quick:
        cells = [cell for cell in cells if cell.method == "sgd" and cell.batch == PROBLEMS[cell.problem].batches[-1]]
    if not options.report:
        execute_cells(cells, options.workers, finished)
    if options.quick:
        return
    rows = read_rows(finished)
    print("\n\n".join(report.text(name, rows) for name in options.problems))
    report.write(rows)
    panels = {name: points for name in PROBLEMS if baseline_of(points := measured_points(name, rows))}
    if panels:
        plot(panels)


if __name__ == "__main__":
    main()
