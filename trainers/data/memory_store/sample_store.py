"""Samples in memory (DIMD; Kumar et al., 2017): each rank of a group stores a part as one blob with an index.

Before every epoch the ranks of a group exchange samples, so that each rank stores the samples that it uses in that
epoch (assignment.py, exchange.py). The order of the samples is the same as in a run that reads files.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.data.memory_store.assignment import Assignment, assign_samples
from trainers.data.memory_store.exchange import SEGMENT_BYTES, Exchange
from trainers.data.shared_tensor import to_shared_memory
from trainers.data.split import SamplesOf

READERS = 16  # threads that read files: a shared disk answers many requests at once


class Files(Protocol):
    """The files of the samples, from which the first epoch is read."""

    @property
    def labels(self) -> Tensor:
        """Return the classes y_N."""
        ...

    def read(self, number: int) -> bytes:
        """Return the bytes of a sample."""
        ...

    def size(self, number: int) -> int:
        """Return the number of bytes of a sample."""
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

    def size(self, number: int) -> int:
        """Return the number of bytes of a sample."""
        slot = int(self.slot_N[number])
        return self.files.size(number) if slot < 0 else int(self.offset_S[slot + 1] - self.offset_S[slot])

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
        ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
        self._ranks = range(ranks[0], ranks[0] + len(ranks))
        if ranks != list(self._ranks):
            raise ValueError(f"the ranks of a group in memory must follow each other; they are {ranks}")
        self._me = dist.get_rank(group)
        self._shard: SampleShard | None = None
        self._assignment: Assignment | None = None
        self._length_N = torch.empty(0)

    @property
    def is_exchanged(self) -> bool:
        """Return whether samples travel: a group of one rank stores all samples in every epoch."""
        return len(self._ranks) > 1

    def arrange(self, epoch: int, samples_of: SamplesOf) -> SampleShard:
        """Return the samples that this rank uses in an epoch; row r of samples_of(ranks) are those of ranks[r]."""
        if self._shard is not None and not self.is_exchanged:
            return self._shard
        used_RS = samples_of(self._ranks)
        assignment = assign_samples(used_RS.unbind(), samples=len(self._files.labels), epoch=epoch)
        if self._shard is None or self._assignment is None:
            blob = self._read(assignment[self._me])
        else:
            exchange = Exchange(self._assignment, assignment, self._length_N, me=self._me, segment=self._segment)
            blob = self._empty_blob(exchange.new_bytes)
            exchange.run(self._shard.blob, blob, group=self._group)
        self._assignment = assignment
        self._shard = self._shard_of(blob, assignment[self._me])
        return self._shard

    def _read(self, own_S: Tensor) -> Tensor:
        """Read this rank's samples from their files, and exchange the lengths of all samples."""
        with ThreadPoolExecutor(READERS) as threads:
            length_S = torch.tensor(list(threads.map(self._files.size, own_S.tolist())), dtype=torch.int64)
            blob = self._empty_blob(int(length_S.sum()))
            end_S = length_S.cumsum(0)
            places = zip(own_S.tolist(), (end_S - length_S).tolist(), end_S.tolist(), strict=True)
            for _ in threads.map(partial(self._read_into, blob.numpy().data), places):
                pass  # the loop raises the first error of a thread
        self._length_N = torch.zeros(len(self._files.labels), dtype=torch.int64)
        self._length_N[own_S] = length_S
        dist.all_reduce(self._length_N, group=self._group)
        return blob

    def _read_into(self, blob: memoryview, place: tuple[int, int, int]) -> None:
        number, start, end = place
        content = self._files.read(number)
        if len(content) != end - start:
            path = self._files.path(number)
            raise OSError(f"{path} had {end - start} bytes and has {len(content)}: it changed while it was read")
        blob[start:end] = content

    def _empty_blob(self, size: int) -> Tensor:
        """Return uninitialized bytes; for worker processes in shared memory, so that they are never copied there."""
        blob = torch.empty(size, dtype=torch.uint8)
        return to_shared_memory(blob) if self._shared else blob

    def _shard_of(self, blob: Tensor, number_S: Tensor) -> SampleShard:
        offset_S = torch.cat([torch.zeros(1, dtype=torch.int64), self._length_N[number_S].cumsum(0)])
        slot_N = torch.full((len(self._files.labels),), -1)
        slot_N[number_S] = torch.arange(len(number_S))
        index = (number_S.clone(), offset_S, slot_N)
        return SampleShard(self._files, blob, *map(to_shared_memory, index) if self._shared else index)
