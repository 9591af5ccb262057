"""What a picture needs of a run's curves: the parts of its steps, its speed, and its evaluations.

The parts are means over the newest steps of the run, so they add up to the time of a step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from contract.metric_names import EPOCH, HELDOUT_ACCURACY, SAMPLES_PER_S, TIME_PARTS, TRAINED_S
from contract.spec.any_run import AnyRun
from study.trial import Points

NEWEST_STEPS = 100  # of a run, whose times are averaged
OF_STEPS = (*TIME_PARTS, SAMPLES_PER_S)  # of the newest steps
OF_EVALUATIONS = (EPOCH, TRAINED_S, HELDOUT_ACCURACY)  # of all steps


@dataclass(frozen=True)
class Measures:
    """The measures of one run."""

    spec: AnyRun
    parts: Mapping[str, float] = field(default_factory=dict)  # mean seconds of a step, by part
    samples_per_s: float | None = None
    evaluations: Points = field(default_factory=dict)

    @property
    def step_s(self) -> float | None:
        """The mean seconds of a step."""
        return sum(self.parts.values()) if self.parts else None


def measure(spec: AnyRun, points: Points) -> Measures:
    """Return the measures of a run; `points` has the series OF_STEPS of the newest steps, and OF_EVALUATIONS."""
    known = {name: _known(points.get(name, ())) for name in OF_STEPS}
    parts = {name: fmean(known[name]) for name in TIME_PARTS if known[name]}
    speeds = [speed for speed in known[SAMPLES_PER_S] if speed > 0]
    speed = len(speeds) / sum(1 / one for one in speeds) if speeds else None  # times add up, rates do not
    return Measures(spec, parts, speed, {name: points.get(name, ()) for name in OF_EVALUATIONS})


def _known(points: Sequence[tuple[int, float | None]]) -> list[float]:
    return [value for _, value in points[-NEWEST_STEPS:] if value is not None]
