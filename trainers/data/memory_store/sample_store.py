"""Samples in memory (DIMD; Kumar et al., 2017): one blob of stored bytes and an index, a part on each rank of a group.

Before every epoch the ranks of a group exchange samples, so that each holds what it takes in that epoch (place.py,
exchange.py). The order of the samples is that of a run which reads files: who holds a sample follows from who takes it,
not the other way round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.data.memory_store.assignment import place
from trainers.data.memory_store.exchange import SEGMENT_BYTES, exchange


class Files(Protocol):
    """Where samples come from before they are in memory."""

    @property
    def labels(self) -> Tensor: ...

    def read(self, number: int) -> bytes: ...

    def path(self, number: int) -> object: ...


@dataclass(frozen=True)
class Shelf:
    """The samples that a rank holds: sample number_S[s] is blob[offset_S[s] : offset_S[s + 1]]."""

    files: Files
    blob: Tensor  # bytes
    number_S: Tensor
    offset_S: Tensor  # one more than samples
    slot_N: Tensor  # where a sample lies here, -1: elsewhere

    @property
    def labels(self) -> Tensor:
        return self.files.labels

    def read(self, number: int) -> bytes:
        """Return a sample's bytes; one that another rank holds comes from its file."""
        slot = int(self.slot_N[number])
        if slot < 0:
            return self.files.read(number)
        start, end = self.offset_S[slot : slot + 2].tolist()
        return self.blob[start:end].numpy().tobytes()

    def path(self, number: int) -> object:
        return self.files.path(number)


class Memory:
    """This rank's shelf, arranged anew for every epoch by all ranks of its group together."""

    def __init__(
        self,
        files: Files,
        group: dist.ProcessGroup | None = None,
        *,
        shared: bool = False,
        segment: int = SEGMENT_BYTES,
    ) -> None:
        """`shared`: worker processes will read it; `segment`: bytes that one exchange sends at most, to all ranks."""
        self._files, self._group, self._shared, self._segment = files, group, shared, segment
        self._ranks: Sequence[int] = dist.get_process_group_ranks(group or dist.group.WORLD)
        self._me = dist.get_rank(group)
        self._shelf: Shelf | None = None
        self._places: list[Tensor] = []
        self._length_N = torch.empty(0)

    def arrange(self, epoch: int, takes: Callable[[int], Tensor]) -> Shelf:
        """Return a shelf with what this rank takes in an epoch; takes(r) is what rank r of the world takes."""
        places = place([takes(rank) for rank in self._ranks], samples=len(self._files.labels), epoch=epoch)
        if self._shelf is None:
            blob = self._read(places)
        else:
            blob = exchange(
                self._shelf.blob, self._length_N, self._places, places, group=self._group, segment=self._segment
            )
        self._places = places
        self._shelf = self._put(blob, places[self._me])
        return self._shelf

    def _read(self, places: Sequence[Tensor]) -> Tensor:
        """Read this rank's samples from their files; learn the lengths of all."""
        mine_S = places[self._me]
        samples = [self._files.read(int(number)) for number in mine_S]
        self._length_N = torch.zeros(len(self._files.labels), dtype=torch.int64)
        self._length_N[mine_S] = torch.tensor([len(sample) for sample in samples])
        dist.all_reduce(self._length_N, group=self._group)
        return torch.frombuffer(bytearray(b"".join(samples)), dtype=torch.uint8)

    def _put(self, blob: Tensor, number_S: Tensor) -> Shelf:
        offset_S = torch.cat([torch.zeros(1, dtype=torch.int64), self._length_N[number_S].cumsum(0)])
        slot_N = torch.full((len(self._files.labels),), -1)
        slot_N[number_S] = torch.arange(len(number_S))
        parts = (blob, number_S, offset_S, slot_N)
        return Shelf(self._files, *(part.share_memory_() for part in parts) if self._shared else parts)  # type: ignore[no-untyped-call]
