"""What is known of the runs of an answer besides their rows, by their ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from study.answer.measures import Measures
from study.answer.speed import seconds_to
from study.trial import Trial

NONE: Mapping[int, float] = {}


@dataclass(frozen=True)
class Known:
    """The curves of the runs, summed up."""

    measures: Mapping[int, Measures]
    samples_per_s: Mapping[int, float]  # the mean of the steps
    trials: Mapping[int, Trial]
    target: float | None
    accuracies: Mapping[int, float] = field(default_factory=dict)  # the best held-out accuracy
    best: Mapping[int, float] = field(default_factory=dict)  # of the metric of the figure that the answer shows

    @cached_property
    def to_target(self) -> Mapping[int, float]:
        """The seconds to the target of each run that reached it."""
        if self.target is None:
            return NONE
        found = {run_id: seconds_to(one, self.target) for run_id, one in self.trials.items()}
        return {run_id: seconds for run_id, seconds in found.items() if seconds is not None}
