"""Samples in memory (DIMD; Kumar et al., 2017): each rank of a group stores a part as one blob with an index.

Before every epoch the ranks of a group exchange samples, so that each rank stores the samples that it uses in that
epoch (assignment.py, exchange.py). The order of the samples is the same as in a run that reads files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.data.memory_store.assignment import assign_samples
from trainers.data.memory_store.exchange import SEGMENT_BYTES, exchange


class Files(Protocol):
    """The files of the samples, from which the first epoch is read."""

    @property
    def labels(self) -> Tensor:
        """Return the classes y_N."""
        ...

    def read(self, number: int) -> bytes:
        """Return the bytes of a sample."""
        ...

    def path(self, number: int) -> object:
        """Return the path of a sample."""
        ...


@dataclass(frozen=True)
class SampleShard:
    """The samples that a rank stores: sample number_S[s] is blob[offset_S[s] : offset_S[s + 1]]."""

    files: Files
    blob: Tensor  # bytes
    number_S: Tensor
    offset_S: Tensor  # one element more than number_S
    slot_N: Tensor  # index s of a sample; -1: not on this rank

    @property
    def labels(self) -> Tensor:
        """Return the classes y_N of all samples."""
        return self.files.labels

    def read(self, number: int) -> bytes:
        """Return the bytes of a sample, from its file if another rank stores it."""
        slot = int(self.slot_N[number])
        if slot < 0:
            return self.files.read(number)
        start, end = self.offset_S[slot : slot + 2].tolist()
        return self.blob[start:end].numpy().tobytes()

    def path(self, number: int) -> object:
        """Return the path of a sample."""
        return self.files.path(number)


class SampleStore:
    """The samples in this rank's memory; all ranks of a group rearrange them together before every epoch."""

    def __init__(
        self,
        files: Files,
        group: dist.ProcessGroup | None = None,
        *,
        shared: bool = False,
        segment: int = SEGMENT_BYTES,
    ) -> None:
        """Store `files`; `shared`: for worker processes; `segment`: most bytes that a round sends to all ranks."""
        self._files, self._group, self._shared, self._segment = files, group, shared, segment
        self._ranks: Sequence[int] = dist.get_process_group_ranks(group or dist.group.WORLD)
        self._me = dist.get_rank(group)
        self._shard: SampleShard | None = None
        self._assignment: list[Tensor] = []
        self._length_N = torch.empty(0)

    def arrange(self, epoch: int, samples_of: Callable[[int], Tensor]) -> SampleShard:
        """Return the samples that this rank uses in an epoch; samples_of(r) are the samples of rank r of the world."""
        assignment = assign_samples(
            [samples_of(rank) for rank in self._ranks], samples=len(self._files.labels), epoch=epoch
        )
        if self._shard is None:
            blob = self._read(assignment)
        else:
            blob = exchange(
                self._shard.blob, self._length_N, self._assignment, assignment, group=self._group, segment=self._segment
            )
        self._assignment = assignment
        self._shard = self._shard_of(blob, assignment[self._me])
        return self._shard

    def _read(self, assignment: Sequence[Tensor]) -> Tensor:
        """Read this rank's samples from their files, and exchange the lengths of all samples."""
        own_S = assignment[self._me]
        samples = [self._files.read(int(number)) for number in own_S]
        self._length_N = torch.zeros(len(self._files.labels), dtype=torch.int64)
        self._length_N[own_S] = torch.tensor([len(sample) for sample in samples])
        dist.all_reduce(self._length_N, group=self._group)
        return torch.frombuffer(bytearray(b"".join(samples)), dtype=torch.uint8)

    def _shard_of(self, blob: Tensor, number_S: Tensor) -> SampleShard:
        offset_S = torch.cat([torch.zeros(1, dtype=torch.int64), self._length_N[number_S].cumsum(0)])
        slot_N = torch.full((len(self._files.labels),), -1)
        slot_N[number_S] = torch.arange(len(number_S))
        parts = (blob, number_S, offset_S, slot_N)
        return SampleShard(self._files, *(part.share_memory_() for part in parts) if self._shared else parts)  # type: ignore[no-untyped-call]
