"""The batch schedule of a run: the epoch and the global batch of every step.

The global batch b(e) is a piecewise-constant function of the epoch (batch-size control: Mikami et al., 2018, after
Smith et al., 2018). Epoch e is one pass over n samples in whole batches: it has floor(n / b(e)) steps and omits
n mod b(e) samples (each epoch's shuffle omits other samples). A run of E epochs has I = sum_e floor(n / b(e)) steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class ScheduledBatch:
    """The global batch from `epoch` on: `batch` samples per step, over all ranks."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class Position:
    """The position of a run between two steps."""

    epoch: int  # the epoch of the next step, from 0
    step: int  # number of completed steps of this epoch


@dataclass(frozen=True)
class BatchSchedule:
    """The global batch of every epoch, for a data set of `samples` samples."""

    samples: int
    epochs: int
    stages: tuple[ScheduledBatch, ...]  # in epoch order, the first from epoch 0 on

    def batch_in(self, epoch: int) -> int:
        """Return the samples per step, over all ranks, in this epoch (from 0)."""
        return [stage.batch for stage in self.stages if stage.epoch <= epoch][-1]

    def steps_in(self, epoch: int) -> int:
        """Return the number of steps of this epoch."""
        return self.samples // self.batch_in(epoch)

    @property
    def steps(self) -> int:
        """The number of steps of the whole run."""
        return sum((end - stage.epoch) * (self.samples // stage.batch) for stage, end in self._stage_spans())

    def position(self, step: int) -> Position:
        """Return the position after `step` steps; after the last step, the start of the epoch after the last epoch."""
        remaining = step
        for stage, end in self._stage_spans():
            epochs, steps = divmod(remaining, self.samples // stage.batch)
            if stage.epoch + epochs < end:
                return Position(stage.epoch + epochs, steps)
            remaining -= (end - stage.epoch) * (self.samples // stage.batch)
        return Position(self.epochs, remaining)

    def epochs_done(self, step: int) -> float:
        """Return the number of epochs, with fraction, that `step` steps complete."""
        at = self.position(step)
        return at.epoch + at.step / self.steps_in(at.epoch)

    def _stage_spans(self) -> Iterator[tuple[ScheduledBatch, int]]:
        """Yield every stage and its end epoch."""
        ends = [after.epoch for _, after in pairwise(self.stages)] + [self.epochs]
        yield from zip(self.stages, ends, strict=True)
