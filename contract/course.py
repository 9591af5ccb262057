"""The course of a run: which epoch and which global batch a step belongs to, as plain arithmetic.

An epoch is one pass over n samples in whole global batches: it has floor(n / b) steps, and the n mod b samples that do
not fill another batch are left out of it (the next epoch's shuffle leaves out others). With b the batch of every epoch
a run of E epochs takes I = E floor(n / b) steps.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """Where a run stands between two steps."""

    epoch: int  # from 0: the one that the next step belongs to
    step: int  # steps of that epoch that were taken


@dataclass(frozen=True)
class Course:
    samples: int
    epochs: int
    batch: int  # global

    def batch_in(self, epoch: int) -> int:
        """Samples per step, over all ranks, in this epoch (from 0)."""
        return self.batch

    def steps_in(self, epoch: int) -> int:
        """Steps of this epoch."""
        return self.samples // self.batch_in(epoch)

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.epochs * self.steps_in(0)

    def position(self, step: int) -> Position:
        """Where the run stands after `step` steps; after the last one, at the start of an epoch that is no more."""
        return Position(*divmod(step, self.steps_in(0)))

    def epochs_done(self, step: int) -> float:
        """Epochs, whole and part, that `step` steps are."""
        at = self.position(step)
        return at.epoch + at.step / self.steps_in(at.epoch)
