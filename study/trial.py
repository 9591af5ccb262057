"""A run as a trial: its accuracy as a function of its training time.

A run of E epochs of n samples with a global batch B takes I = E n / B iterations (You et al., 2018), in whole steps.
The time is measured by the run, with evaluations and without queueing and gaps between attempts. It is not the sum of
rank 0's steps, which would omit waiting times of rules with independent replicas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract import metric_names
from contract.lifecycle.state import State
from contract.spec.any_run import AnyRun

Points = Mapping[str, Sequence[tuple[int, float | None]]]  # name of a series -> its steps and values
NAMES = (metric_names.EPOCH, metric_names.TRAINED_S, metric_names.HELDOUT_ACCURACY)


@dataclass(frozen=True)
class Mark:
    """The result of one evaluation."""

    step: int
    epochs: float
    seconds: float  # of training before the evaluation
    accuracy: float


@dataclass(frozen=True)
class Trial:
    """A run with its evaluations in order."""

    name: str
    state: State
    spec: AnyRun
    marks: Sequence[Mark]

    @property
    def best(self) -> float | None:
        """Return the best held-out accuracy; None without an evaluation."""
        return max((mark.accuracy for mark in self.marks), default=None)

    def reached(self, accuracy: float) -> Mark | None:
        """Return the first evaluation with at least `accuracy`, or None."""
        return next((mark for mark in self.marks if mark.accuracy >= accuracy), None)


def trial(name: str, state: State, spec: AnyRun, points: Points) -> Trial:
    """Return the trial of a run; `points` must contain the series NAMES from the first step on."""
    epochs, seconds = dict(points.get(metric_names.EPOCH, ())), dict(points.get(metric_names.TRAINED_S, ()))
    marks = [
        Mark(step, epochs.get(step) or 0.0, seconds.get(step) or 0.0, accuracy)
        for step, accuracy in points.get(metric_names.HELDOUT_ACCURACY, ())
        if accuracy is not None
    ]
    return Trial(name, state, spec, marks)
