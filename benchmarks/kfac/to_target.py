"""Epochs and time to the target accuracy, at each method's best of equally many trials.

The target is the mean last accuracy of SGD at its most accurate of five rates over the measured seeds, less one point.
With the tuning seed, the best trial of a method reaches the target in the fewest epochs, and of equal ones has the
highest last accuracy: every method is tuned for what is compared. The other seeds measure the best trials. A run that
never reaches the target counts as its epochs and one, and is listed.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.kfac.problems import METHODS, PROBLEMS, SEEDS, TUNING_SEED, Spec, Trial, spec_of

MARGIN = 0.01
MOST_BEYOND = 3  # further rates of a method whose best rate is at an edge, each half or twice the edge
Evaluations = list[dict[str, float | None]]


@dataclass
class Tuning:
    """The evaluations of each trial of a method on a problem of so many epochs."""

    epochs: int
    trials: dict[Trial, Evaluations] = field(default_factory=dict)

    def most_accurate(self) -> Trial:
        """Return the trial with the highest last accuracy."""
        return max(self.trials, key=lambda trial: last_accuracy(self.trials[trial]))

    def best(self, target: float) -> Trial:
        """Return the trial that reaches the target first."""
        return min(self.trials, key=lambda trial: self._rank(trial, target))

    def beyond_edge(self, target: float) -> float | None:
        """Return half of the lowest rate or twice the highest one if it is the best; None if neither is."""
        rates = sorted(trial.rate for trial in self.trials)
        best = self.best(target).rate
        return best / 2 if best == rates[0] else 2 * best if best == rates[-1] else None

    def view(self, target: float, others: Sequence[Spec]) -> dict[str, Any]:
        """Return the choice, and the epochs to the target and the last accuracy of each trial."""
        rows = [
            {
                "rate": trial.rate,
                "other": _other(trial, others),
                "epochs_to_target": first_at(run, target, self.epochs)[0],
                "accuracy": last_accuracy(run),
            }
            for trial, run in self.trials.items()
        ]
        chosen = self.best(target)
        is_at_edge = self.beyond_edge(target) is not None
        return {"rate": chosen.rate, "other": _other(chosen, others), "is_at_edge": is_at_edge, "tuning": rows}

    def _rank(self, trial: Trial, target: float) -> tuple[float, float]:
        run = self.trials[trial]
        return first_at(run, target, self.epochs)[0], -last_accuracy(run)


def _other(trial: Trial, others: Sequence[Spec]) -> Spec | None:
    return None if trial.other is None else others[trial.other]


class Tuned(NamedTuple):
    """The trials of all methods on a problem, and the target that they give."""

    methods: dict[str, Tuning]
    target: float


def tune(problem: str, execute: Callable[[Sequence[Spec]], Sequence[Evaluations]]) -> Tuned:
    """Try for each method five rates, up to MOST_BEYOND more beyond an edge, and two others at the best rate."""
    found = {name: Tuning(PROBLEMS[problem].epochs) for name in METHODS}

    def try_all(trials: Sequence[tuple[str, Trial]]) -> None:
        specs = [spec_of(problem, name, trial, TUNING_SEED) for name, trial in trials]
        for (name, trial), evaluations in zip(trials, execute(specs), strict=True):
            found[name].trials[trial] = evaluations

    try_all([(name, Trial(rate)) for name, method in METHODS.items() for rate in method.rates])
    chosen = found["sgd"].most_accurate()
    measured = execute([spec_of(problem, "sgd", chosen, seed) for seed in SEEDS])
    target = statistics.mean(map(last_accuracy, measured)) - MARGIN
    for _ in range(MOST_BEYOND):
        beyond = {name: tuning.beyond_edge(target) for name, tuning in found.items()}
        try_all([(name, Trial(rate)) for name, rate in beyond.items() if rate is not None])
    rates = {name: tuning.best(target).rate for name, tuning in found.items()}
    try_all([(name, Trial(rate, other)) for name, rate in rates.items() for other in range(len(METHODS[name].others))])
    return Tuned(found, target)


def last_accuracy(evaluations: Evaluations) -> float:
    """Return the last held-out accuracy, 0 of a run without an evaluation."""
    return float(evaluations[-1]["heldout_accuracy"] or 0.0) if evaluations else 0.0


def compare(problem: str, tuned: Tuned, of_method: dict[str, list[Evaluations]]) -> dict[str, Any]:
    """Return the row of a problem: the target, and each method's accuracy, epochs and seconds to the target."""
    target, rows = tuned.target, {}
    for name, runs in of_method.items():
        marks = [first_at(run, target, PROBLEMS[problem].epochs) for run in runs]
        accuracies = [last_accuracy(run) for run in runs]
        rows[name] = {
            **tuned.methods[name].view(target, METHODS[name].others),
            "accuracies": accuracies,
            "accuracy": statistics.mean(accuracies),
            "accuracy_stdev": statistics.stdev(accuracies),
            "epochs_to_target": statistics.mean(epoch for epoch, _, _ in marks),
            "seconds_to_target": statistics.mean(seconds for _, seconds, _ in marks),
            "reached": sum(reached for *_, reached in marks),
        }
    for row in rows.values():
        for name in ("epochs", "seconds"):
            row[f"{name}_by_sgd"] = row[f"{name}_to_target"] / rows["sgd"][f"{name}_to_target"]
    return {"problem": problem, "what": PROBLEMS[problem].what, "target": target, "seeds": SEEDS, "methods": rows}


def first_at(run: Evaluations, target: float, epochs: int) -> tuple[float, float, bool]:
    """Return the epoch and the training seconds of the first evaluation at the target, and whether there is one."""
    for evaluation in run:
        if (evaluation["heldout_accuracy"] or 0.0) >= target:
            return float(evaluation["epoch"] or 0.0), float(evaluation["trained_s"] or 0.0), True
    last = run[-1] if run else {"trained_s": 0.0}
    return epochs + 1.0, float(last["trained_s"] or 0.0), False
