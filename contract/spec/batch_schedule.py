"""The course of a run: which epoch and which global batch a step belongs to, as plain arithmetic.

The global batch b(e) is a piecewise-constant function of the epoch (batch-size control: Mikami et al., 2018, after
Smith et al., 2018). Epoch e is one pass over n samples in whole batches: it has floor(n / b(e)) steps, and the
n mod b(e) samples that do not fill another batch are left out of it (the next epoch's shuffle leaves out others). A run
of E epochs takes I = sum_e floor(n / b(e)) steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Stage:
    """From `epoch` on a step takes `batch` samples, over all ranks."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class Position:
    """Where a run stands between two steps."""

    epoch: int  # from 0: the one that the next step belongs to
    step: int  # steps of that epoch that were taken


@dataclass(frozen=True)
class Course:
    samples: int
    epochs: int
    stages: tuple[Stage, ...]  # the first from epoch 0 on, the others in their order

    def batch_in(self, epoch: int) -> int:
        """Samples per step, over all ranks, in this epoch (from 0)."""
        return [stage.batch for stage in self.stages if stage.epoch <= epoch][-1]

    def steps_in(self, epoch: int) -> int:
        """Steps of this epoch."""
        return self.samples // self.batch_in(epoch)

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return sum((end - stage.epoch) * self.steps_in(stage.epoch) for stage, end in self._stretches())

    def position(self, step: int) -> Position:
        """Where the run stands after `step` steps; after the last one, at the start of an epoch that is no more."""
        left = step
        for stage, end in self._stretches():
            epochs, steps = divmod(left, self.steps_in(stage.epoch))
            if stage.epoch + epochs < end:
                return Position(stage.epoch + epochs, steps)
            left -= (end - stage.epoch) * self.steps_in(stage.epoch)
        return Position(self.epochs, left)

    def epochs_done(self, step: int) -> float:
        """Epochs, whole and part, that `step` steps are."""
        at = self.position(step)
        return at.epoch + at.step / self.steps_in(at.epoch)

    def _stretches(self) -> Iterator[tuple[Stage, int]]:
        """Every stage and the epoch that ends it."""
        ends = [after.epoch for _, after in pairwise(self.stages)] + [self.epochs]
        yield from zip(self.stages, ends, strict=True)
