"""What a picture needs of a run's series: the parts of its steps, and its evaluations.

Parts are means over all steps of the run, as its page and `mean(compute_s)` of a query have them; so they add up to the
mean time of a step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contract.metric_names import EPOCH, HELDOUT_ACCURACY, TIME_PARTS, TRAINED_S
from contract.spec.any_run import AnyRun
from study.trial import Points

OF_EVALUATIONS = (EPOCH, TRAINED_S, HELDOUT_ACCURACY)  # whose points are needed


@dataclass(frozen=True)
class Measures:
    """The measures of one run."""

    spec: AnyRun
    parts: Mapping[str, float] = field(default_factory=dict)  # mean seconds of a step, by part
    evaluations: Points = field(default_factory=dict)

    @property
    def step_s(self) -> float | None:
        """The mean seconds of a step."""
        return sum(self.parts.values()) if self.parts else None


def measure(spec: AnyRun, means: Mapping[str, float], evaluations: Points) -> Measures:
    """Return the measures of a run from the means of the TIME_PARTS and the points of those OF_EVALUATIONS."""
    parts = {name: means[name] for name in TIME_PARTS if name in means}
    return Measures(spec, parts, evaluations)
