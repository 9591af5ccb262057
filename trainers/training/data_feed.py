"""What this rank trains on: its part of every global batch, pass by pass, in the order of the run, on its device."""

from collections.abc import Generator, Iterator
from contextlib import closing

import torch
from torch import Tensor

from contract.spec.batch_schedule import Course, Position
from contract.spec.batch_size import passes
from trainers.data import sampler
from trainers.data.loader import load
from trainers.data.split import Arranged, Placed, Split, Staged, to_device
from trainers.ranks.rank_info import Place


class Feed:
    """Goes through a split epoch by epoch; what a step takes depends on the seed and the step alone."""

    def __init__(
        self,
        split: Split,
        course: Course,
        *,
        seed: int,
        place: Place,
        device: torch.device,
        micro_batch: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
    ) -> None:
        """`workers`: processes of this rank that make batches while the step before them runs."""
        self._split, self._course, self._seed, self._workers = split, course, seed, workers
        self._place, self._device = place, device
        self._micro_batch, self._channels_last = micro_batch, channels_last

    def share(self, epoch: int) -> int:
        """This rank's samples of each step of an epoch."""
        return self._course.batch_in(epoch) // self._place.world

    def passes(self, epoch: int) -> int:
        """How many passes these are taken in."""
        return len(passes(self.share(epoch), self._micro_batch))

    def epoch(self, start: Position) -> Generator[Placed]:
        """Yield the batches of an epoch, one per pass, from a position on."""
        if isinstance(self._split, Staged):
            split = self._split.stage(start.epoch, lambda rank: torch.cat(list(self._takes(start, rank))))
        else:
            split = self._split
        yield from self._made(split, start)

    def sample(self, samples: int) -> Iterator[Placed]:
        """Yield the first batches of this rank's first epoch until there are so many samples, or the epoch ends."""
        # one rank alone may ask for it, so nothing is staged
        with closing(self._made(self._split, Position(0, 0))) as batches:
            for batch in batches:
                yield batch
                samples -= len(batch[1])
                if samples <= 0:
                    return

    def _made(self, split: Split, start: Position) -> Generator[Placed]:
        with closing(load(split, self._takes(start, self._place.rank), workers=self._workers)) as batches:
            for batch in batches:
                yield to_device(batch, self._device, channels_last=self._channels_last)

    def _takes(self, start: Position, rank: int) -> Iterator[Tensor]:
        """The samples of each pass from a position on that a rank takes."""
        batch, sizes = self._course.batch_in(start.epoch), passes(self.share(start.epoch), self._micro_batch)
        order_N = sampler.permutation(len(self._split), seed=self._seed, epoch=start.epoch)
        if isinstance(self._split, Arranged):
            order_N = self._split.arrange(order_N, batch)
        for share_B in sampler.slices(order_N[start.step * batch :], batch, rank=rank, world=self._place.world):
            yield from torch.split(share_B, sizes)
