"""DataFeed: this rank's part of every global batch, pass by pass, in the run's order, on the rank's device."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial

import torch
from torch import Tensor

from contract.spec.batch_schedule import BatchSchedule, Position
from contract.spec.batch_size import split_into_passes
from trainers.data import sampler
from trainers.data.float_types import FloatTypes
from trainers.data.loader import Batches, Loader
from trainers.data.split import UNCHANGED, DeviceBatch, OrderedSplit, SamplesOf, Split, StagedSplit, to_device
from trainers.ranks.rank_info import RankInfo
from trainers.training.staging import Staging

LAST_PART = 8  # the exchange before an epoch begins when an eighth of the passes of the epoch before remains


class DataFeed:
    """Iterates over a split epoch by epoch; the samples of a step depend only on the seed and the step."""

    def __init__(
        self,
        split: Split,
        batch_schedule: BatchSchedule,
        *,
        seed: int,
        rank_info: RankInfo,
        device: torch.device,
        micro_batch: int | None = None,
        channels_last: bool = False,
        types: FloatTypes = UNCHANGED,
        loader: Loader | None = None,
        before_next: Callable[[], None] | None = None,
    ) -> None:
        """`before_next`: called before the first batches of the next epoch are loaded, while an epoch still runs.

        `types`: the floating-point types of the net, to which samples are converted.
        """
        self._split, self._batch_schedule, self._seed = split, batch_schedule, seed
        self._rank_info, self._device = rank_info, device
        self._micro_batch, self._channels_last, self._types = micro_batch, channels_last, types
        self.loader, self._before_next = loader or Loader(), before_next
        self._next: tuple[Position, Batches] | None = None  # the batches of the next epoch, which are loaded ahead
        self._staging: Staging | None = None  # the exchange before the next epoch
        self._is_drained = False  # whether the workers have got all batches of the current epoch

    @property
    def split(self) -> Split:
        """The split of all training samples."""
        return self._split

    def samples_per_step(self, epoch: int) -> int:
        """Return the number of this rank's samples in each step of an epoch."""
        return self._batch_schedule.batch_in(epoch) // self._rank_info.world

    def passes_per_step(self, epoch: int) -> int:
        """Return the number of forward passes that process the samples of a step."""
        return len(split_into_passes(self.samples_per_step(epoch), self._micro_batch))

    def epoch_batches(self, start: Position) -> Generator[DeviceBatch]:
        """Yield the batches of an epoch from a position on, one batch per pass."""
        ahead, self._next = self._next, None
        if ahead is not None and ahead[0] == start:
            batches = ahead[1]
        else:
            if ahead is not None:
                ahead[1].close()
            batches = self._open(start)
        self._is_drained = False
        if not self._exchanges_before(start.epoch + 1):
            yield from self._read(batches)
            return
        begin = self._passes_before_exchange(start)
        for number, batch in enumerate(self._read(batches)):
            if number >= begin and self._next is None:
                self._prepare(Position(start.epoch + 1, 0))
            yield batch

    def numbers(self, start: Position) -> Iterator[Tensor]:
        """Yield the numbers of this rank's samples in the data set, pass by pass, from a position on in an epoch."""
        return self._indices(start)

    def sample_batches(self, samples: int) -> Iterator[DeviceBatch]:
        """Yield the first batches of this rank's first epoch, until they have `samples` samples or the epoch ends."""
        # do not stage the split, because a single rank may call this
        with closing(self._read(self.loader.batches(self._split, self._indices(Position(0, 0))))) as batches:
            for batch in batches:
                yield batch
                samples -= len(batch[1])
                if samples <= 0:
                    return

    def close(self) -> None:
        """End the processes that load batches."""
        self.loader.close()

    def _open(self, start: Position) -> Batches:
        """Return the batches of an epoch from a position on, not yet on the device."""
        split, staging = self._split, self._staging
        self._staging = None
        staged = staging.wait() if staging is not None else None  # also an unused exchange ends before the next one
        if staged is not None and staging is not None and staging.start_at == start:
            split = staged
        elif isinstance(split, StagedSplit):
            split = split.stage(start.epoch, self._samples_of(start))
        return self.loader.batches(split, self._indices(start), at_last=partial(self._load_ahead, start.epoch + 1))

    def _samples_of(self, start: Position) -> SamplesOf:
        return lambda ranks: self._shares(start, ranks).flatten(1)

    def _exchanges_before(self, epoch: int) -> bool:
        """Return whether the ranks exchange samples before an epoch that follows another one."""
        exchanges = isinstance(self._split, StagedSplit) and self._split.is_exchanged
        return exchanges and epoch < self._batch_schedule.epochs

    def _passes_before_exchange(self, start: Position) -> int:
        """Return after how many passes from a position on the next exchange begins: the same on all ranks."""
        passes = self.passes_per_step(start.epoch)
        steps = self._batch_schedule.steps_in(start.epoch)
        last = -(-steps * passes // LAST_PART)
        return max((steps - start.step) * passes - last, 0)

    def _prepare(self, start: Position) -> None:
        """Begin to exchange the samples of the next epoch; load its first batches as soon as that is done."""
        if self._staging is None:
            assert isinstance(self._split, StagedSplit)
            self._staging = Staging(self._split, start, self._samples_of(start))
        elif self._is_drained and self._staging.is_done:
            self._next = start, self._open(start)
            self._next[1].fill()

    def _load_ahead(self, epoch: int) -> None:
        """Begin to load the first batches of the next epoch."""
        self._is_drained = True
        if self._before_next is not None:
            self._before_next()
        if epoch < self._batch_schedule.epochs and not self._exchanges_before(epoch):
            start = Position(epoch, 0)
            self._next = start, self._open(start)
            self._next[1].fill()

    def _read(self, batches: Batches) -> Generator[DeviceBatch]:
        with closing(batches):
            for batch in batches:
                yield to_device(batch, self._split, self._device, channels_last=self._channels_last, types=self._types)

    def _indices(self, start: Position) -> Iterator[Tensor]:
        """Yield the indices of this rank's samples in each pass from a position on."""
        sizes = split_into_passes(self.samples_per_step(start.epoch), self._micro_batch)
        rank = self._rank_info.rank
        for share_B in self._shares(start, range(rank, rank + 1))[0]:
            yield from torch.split(share_B, sizes)

    def _shares(self, start: Position, ranks: range) -> Tensor:
        """Return number_RTS: the samples of ranks in each step from a position on."""
        batch = self._batch_schedule.batch_in(start.epoch)
        order_N = sampler.permutation(len(self._split), seed=self._seed, epoch=start.epoch)
        if isinstance(self._split, OrderedSplit):
            order_N = self._split.arrange(order_N, batch)
        return sampler.shares(order_N[start.step * batch :], batch, ranks=ranks, world=self._rank_info.world)
