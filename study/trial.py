"""A run as a trial: how accurate it was after how much training.

A run of E epochs of n samples with a global batch B takes I = E n / B iterations (You et al., 2018), in whole steps.
Its time is that of its steps, summed on rank 0: neither waiting in the queue nor evaluation is in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract import series
from contract.run import State
from contract.spec import RunSpec

Points = Mapping[str, Sequence[tuple[int, float | None]]]  # name of a series -> its steps and values
# what a step's time is made of: every series of seconds (samples per second are none)
PARTS = tuple(name for name in series.EVERY_STEP if name.endswith("_s") and name != series.SAMPLES_PER_S)
NAMES = (*PARTS, series.EPOCH, series.HELDOUT_ACCURACY)


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
    seconds = _seconds(points)
    epochs = dict(points.get(series.EPOCH, ()))
    marks, until, spent = [], iter(sorted(seconds)), 0.0
    step = next(until, None)
    for evaluated, accuracy in points.get(series.HELDOUT_ACCURACY, ()):
        while step is not None and step <= evaluated:
            spent += seconds[step]
            step = next(until, None)
        if accuracy is not None:
            marks.append(Mark(evaluated, epochs.get(evaluated) or 0.0, spent, accuracy))
    return Trial(name, state, spec, marks)


def _seconds(points: Points) -> dict[int, float]:
    """What each step took."""
    taken: dict[int, float] = {}
    for name in PARTS:
        for step, value in points.get(name, ()):
            taken[step] = taken.get(step, 0.0) + (value or 0.0)
    return taken
