"""A run as a trial: how accurate it was after how much training.

A run of E epochs of n samples with a global batch B takes I = E n / B iterations (You et al., 2018), in whole steps.
Its time is its own clock's, evaluations included: neither the queue nor what lay between two attempts is in it. Steps
are not summed: of a rule whose replicas go their own ways rank 0's would leave out its wait for the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract import metric_names as series
from contract.lifecycle.state import State
from contract.spec.run import RunSpec

Points = Mapping[str, Sequence[tuple[int, float | None]]]  # name of a series -> its steps and values
NAMES = (series.EPOCH, series.TRAINED_S, series.HELDOUT_ACCURACY)


@dataclass(frozen=True)
class Mark:
    """What an evaluation found."""

    step: int
    epochs: float
    seconds: float  # of training until then
    accuracy: float


@dataclass(frozen=True)
class Trial:
    """A run, and what its evaluations found, in order."""

    name: str
    state: State
    spec: RunSpec
    marks: Sequence[Mark]

    @property
    def best(self) -> float | None:
        """The best held-out accuracy; none where nothing was evaluated."""
        return max((mark.accuracy for mark in self.marks), default=None)

    def reached(self, accuracy: float) -> Mark | None:
        """The first evaluation that found at least `accuracy`."""
        return next((mark for mark in self.marks if mark.accuracy >= accuracy), None)


def trial(name: str, state: State, spec: RunSpec, points: Points) -> Trial:
    """Make a trial of a run's `points`, which hold the series of NAMES from the first step on."""
    epochs, seconds = dict(points.get(series.EPOCH, ())), dict(points.get(series.TRAINED_S, ()))
    marks = [
        Mark(step, epochs.get(step) or 0.0, seconds.get(step) or 0.0, accuracy)
        for step, accuracy in points.get(series.HELDOUT_ACCURACY, ())
        if accuracy is not None
    ]
    return Trial(name, state, spec, marks)
