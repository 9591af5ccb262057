"""The time of an epoch at each batch of each problem, and the time of the whole benchmark that follows from it."""

import time

from benchmarks.batch_scaling import problems
from benchmarks.batch_scaling.problems import EPOCHS, PROBLEMS, RATES, SCALED, SEEDS, WARMUPS, Cell, Trial, spec_of
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
