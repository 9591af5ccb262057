"""What this rank trains on: its part of every global batch, in the order of the run, on its device."""

from collections.abc import Iterator

import torch
from torch import Tensor

from contract.course import Course, Position
from trainers.data import sampler
from trainers.data.split import Batch, Split
from trainers.place import Place


class Feed:
    """Goes through a split epoch by epoch; what a step takes depends on the seed and the step alone."""

    def __init__(self, split: Split, course: Course, *, seed: int, place: Place, device: torch.device) -> None:
        self._split, self._course, self._seed = split, course, seed
        self._place, self._device = place, device

    def epoch(self, start: Position) -> Iterator[Batch]:
        """Yield the batches of an epoch, one per step, from a position on."""
        batch = self._course.batch_in(start.epoch)
        order_N = sampler.permutation(len(self._split), seed=self._seed, epoch=start.epoch)[start.step * batch :]
        for index_B in sampler.slices(order_N, batch, rank=self._place.rank, world=self._place.world):
            yield self._batch(index_B)

    def sample(self, samples: int) -> Iterator[Batch]:
        """Yield the first batches of this rank's first epoch until there are so many samples, or the epoch ends."""
        for batch in self.epoch(Position(0, 0)):
            yield batch
            samples -= len(batch[1])
            if samples <= 0:
                return

    def _batch(self, index_B: Tensor) -> Batch:
        x_BCHW, y_B = self._split.batch(index_B)
        return x_BCHW.to(self._device), y_B.to(self._device)
