"""Execute the runs of the cells, each once: finished runs are lines of a file, so an interrupted benchmark goes on."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.batch_scaling import tuning
from benchmarks.batch_scaling.problems import PROBLEMS, SCALED, SEEDS, TUNING_SEED, Cell, Trial, spec_of
from benchmarks.small_runs import execute_run
from contract import metric_names
from contract.folder.run_folder import RunFolder
from trainers.progress.reporter import Reporter
from trainers.training.diverged import Diverged


class Key(NamedTuple):
    """What distinguishes one run from all others."""

    cell: Cell
    trial: Trial
    seed: int


Row = dict[str, Any]
Rows = Mapping[Key, Row]


def read_rows(finished: Path) -> dict[Key, Row]:
    """Return the finished runs."""
    lines = finished.read_text().splitlines() if finished.exists() else []
    return {key_of(row): row for row in map(json.loads, lines)}


def key_of(row: Row) -> Key:
    """Return the key of a finished run."""
    cell = Cell(row["problem"], row["method"], row["batch"])
    return Key(cell, Trial(row["rate"], row["warmup"]), row["seed"])


def measure_cell(cell: Cell, finished: Path) -> None:
    """Tune one cell, then execute its runs with the other seeds."""
    while trials := missing_trials(cell, read_rows(finished)):
        for trial in trials:
            execute(Key(cell, trial, TUNING_SEED), finished)
    known = read_rows(finished)
    chosen = tuning.best(tuned(cell, known))
    for seed in SEEDS:
        if (key := Key(cell, chosen, seed)) not in known:
            execute(key, finished)


def missing_trials(cell: Cell, rows: Rows) -> list[Trial]:
    """Return the next trials of a cell; none if its tuning is complete. Raise ValueError if it needs another cell."""
    known = tuned(cell, rows)
    if cell.method != SCALED:
        return tuning.next_trials(cell.method, known)
    reference = cell._replace(method="sgd", batch=PROBLEMS[cell.problem].smallest)
    if missing_trials(reference, rows):
        raise ValueError(f"linear scaling takes its rate from {reference}, which is not tuned yet")
    rate = tuning.best(tuned(reference, rows)).rate
    return [trial for trial in tuning.scaled_trials(rate) if trial not in known]


def tuned(cell: Cell, rows: Rows) -> dict[Trial, float]:
    """Return the accuracies of a cell's tuning runs."""
    own = {key.trial: row for key, row in rows.items() if key.cell == cell and key.seed == TUNING_SEED}
    return {trial: row["accuracy"] for trial, row in own.items()}


def execute(key: Key, finished: Path) -> None:
    """Execute one run and append its row to the file; a run that diverges or stays at chance has accuracy 0."""
    problem = PROBLEMS[key.cell.problem]
    make_reporter = partial(EndingReporter, half=problem.epochs // 2, chance=1.5 * problem.chance)
    epochs = execute_run(spec_of(*key), make_reporter=make_reporter)
    accuracy = epochs[-1][metric_names.HELDOUT_ACCURACY] if len(epochs) == problem.epochs else None
    row: Row = {**key.cell._asdict(), **key.trial._asdict(), "seed": key.seed, "accuracy": accuracy or 0.0}
    row |= {"epochs": len(epochs), "seconds": round(epochs[-1][metric_names.TRAINED_S] or 0.0, 2) if epochs else 0.0}
    with finished.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(
        " ".join(f"{value:8.4g}" if isinstance(value, float) else f"{value!s:12}" for value in row.values()), flush=True
    )


class EndingReporter(Reporter):
    """Reports a run, and ends it after `half` of its epochs if its held-out accuracy is below `chance`."""

    def __init__(self, folder: RunFolder, *, half: int, chance: float) -> None:
        super().__init__(folder, 1, rank=0)
        self._half, self._chance = half, chance

    def epoch(self, step: int, values: Mapping[str, float]) -> None:
        """Report the evaluation after an epoch; raise Diverged if the run is at chance and half over."""
        super().epoch(step, values)
        if values[metric_names.EPOCH] == self._half and values[metric_names.HELDOUT_ACCURACY] < self._chance:
            raise Diverged(f"after {self._half} epochs the accuracy is {values[metric_names.HELDOUT_ACCURACY]:.2%}")
