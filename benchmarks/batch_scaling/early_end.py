"""End a run that learns nothing, so that its time serves other runs; the rule is the same for all methods."""

from collections.abc import Mapping

from contract import metric_names
from contract.folder.run_folder import RunFolder
from trainers.progress.reporter import Reporter
from trainers.training.diverged import Diverged


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
