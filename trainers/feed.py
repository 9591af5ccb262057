"""What this rank trains on: its part of every global batch, in the order of the run, on its device."""

from collections.abc import Generator, Iterator
from contextlib import closing

import torch
from torch import Tensor

from contract.course import Course, Position
from trainers.data import sampler
from trainers.data.loader import load
from trainers.data.split import Batch, Split, Staged, to_device
from trainers.place import Place


class Feed:
    """Goes through a split epoch by epoch; what a step takes depends on the seed and the step alone."""

    def __init__(
        self, split: Split, course: Course, *, seed: int, place: Place, device: torch.device, workers: int = 0
    ) -> None:
        """`workers`: processes of this rank that make batches while the step before them runs."""
        self._split, self._course, self._seed, self._workers = split, course, seed, workers
        self._place, self._device = place, device

    def epoch(self, start: Position) -> Generator[Batch]:
        """Yield the batches of an epoch, one per step, from a position on."""
        if isinstance(self._split, Staged):
            split = self._split.stage(start.epoch, lambda rank: torch.cat(list(self._takes(start, rank))))
        else:
            split = self._split
        yield from self._made(split, start)

    def sample(self, samples: int) -> Iterator[Batch]:
        """Yield the first batches of this rank's first epoch until there are so many samples, or the epoch ends."""
        # one rank alone may ask for it, so nothing is staged
        with closing(self._made(self._split, Position(0, 0))) as batches:
            for batch in batches:
                yield batch
                samples -= len(batch[1])
                if samples <= 0:
                    return

    def _made(self, split: Split, start: Position) -> Generator[Batch]:
        with closing(load(split, self._takes(start, self._place.rank), workers=self._workers)) as batches:
            for batch in batches:
                yield to_device(batch, self._device)

    def _takes(self, start: Position, rank: int) -> Iterator[Tensor]:
        """The samples of each step from a position on that a rank takes."""
        batch = self._course.batch_in(start.epoch)
        order_N = sampler.permutation(len(self._split), seed=self._seed, epoch=start.epoch)[start.step * batch :]
        return sampler.slices(order_N, batch, rank=rank, world=self._place.world)
