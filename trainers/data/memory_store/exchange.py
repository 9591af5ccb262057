"""The shuffle of DIMD (Kumar et al., 2017): the ranks of a group exchange samples by an all-to-all of bytes.

The stream of samples from one rank to another is cut into rounds, because the counts of an all-to-all are 32-bit
numbers in MPI and the buffers must stay small: round k sends the samples whose first byte lies in the k-th segment of
the stream. Every rank knows the assignment and the lengths of all samples, so no counts are exchanged but the number
of rounds.

Memory: the old blob, the new blob, and twice the bytes of one round. Cost of the bookkeeping: O(samples + ranks).
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.data.memory_store.assignment import Assignment

SEGMENT_BYTES = 2**30


class Exchange:
    """What rank `me` sends and receives so that it stores after[me] in place of before[me].

    length_N: bytes of every sample; `segment`: most bytes that a round sends to all ranks.
    """

    def __init__(
        self, before: Assignment, after: Assignment, length_N: Tensor, *, me: int, segment: int = SEGMENT_BYTES
    ) -> None:
        world, pair = len(before), max(1, segment // len(before))
        owner_N = after.owners()
        own_S = before[me]
        # a stable sort keeps the order of before[me] within the stream to each rank
        rank_S, order_S = owner_N[own_S].sort(stable=True)
        self._sent = _Streams(own_S[order_S], rank_S.long(), length_N, world=world, pair=pair)
        place_S = (owner_N[before.number_N] == me).nonzero().flatten()
        source_S = torch.searchsorted(before.first_R, place_S, right=True) - 1
        self._received = _Streams(before.number_N[place_S], source_S, length_N, world=world, pair=pair)
        self._length_N = length_N
        self._old_N, self._new_N = _starts(own_S, length_N), _starts(after[me], length_N)
        self.new_bytes = int(length_N[after[me]].sum())

    def run(self, blob: Tensor, new: Tensor, *, group: dist.ProcessGroup | None = None) -> None:
        """Write this rank's new samples into `new`; all ranks of the group call this together. Both are uint8."""
        rounds = torch.tensor([self._sent.rounds])
        dist.all_reduce(rounds, dist.ReduceOp.MAX, group)
        for number in range(int(rounds)):
            going, coming = self._sent.round(number), self._received.round(number)
            arrived = torch.empty(sum(coming.bytes_R), dtype=torch.uint8)
            sent = self._gather(blob, going.number_S)
            dist.all_to_all_single(arrived, sent, coming.bytes_R, going.bytes_R, group=group)
            self._scatter(new, arrived, coming.number_S)

    def _gather(self, blob: Tensor, number_S: Tensor) -> Tensor:
        starts, lengths = self._old_N[number_S].tolist(), self._length_N[number_S].tolist()
        memory = blob.numpy().data
        pieces = bytearray().join(
            [memory[start : start + length] for start, length in zip(starts, lengths, strict=True)]
        )
        return torch.frombuffer(pieces, dtype=torch.uint8) if pieces else blob[:0]

    def _scatter(self, new: Tensor, arrived: Tensor, number_S: Tensor) -> None:
        starts, lengths = self._new_N[number_S].tolist(), self._length_N[number_S].tolist()
        into, source, first = new.numpy().data, arrived.numpy().data, 0
        for start, length in zip(starts, lengths, strict=True):
            into[start : start + length] = source[first : first + length]
            first += length


@dataclass(frozen=True)
class _Round:
    """The samples of one round, rank by rank, and the bytes to or from each rank."""

    number_S: Tensor
    bytes_R: list[int]


class _Streams:
    """The streams between one rank and every rank: the samples number_S with the ranks rank_S, ascending."""

    def __init__(self, number_S: Tensor, rank_S: Tensor, length_N: Tensor, *, world: int, pair: int) -> None:
        self._number_S, self._rank_S, self._world = number_S, rank_S, world
        self._length_S = length_N[number_S]
        before_S = self._length_S.cumsum(0) - self._length_S
        first_R = torch.searchsorted(rank_S, torch.arange(world))
        stream_start_S = before_S[first_R.clamp(max=max(0, len(number_S) - 1))][rank_S] if len(number_S) else before_S
        self._round_S = (before_S - stream_start_S) // pair
        self.rounds = int(self._round_S.max()) + 1 if len(number_S) else 0

    def round(self, number: int) -> _Round:
        """Return what one round carries; nothing after the last round."""
        chosen_S = self._round_S == number
        bytes_R = torch.zeros(self._world, dtype=torch.int64)
        bytes_R.index_add_(0, self._rank_S[chosen_S], self._length_S[chosen_S])
        return _Round(self._number_S[chosen_S], bytes_R.tolist())


def _starts(number_S: Tensor, length_N: Tensor) -> Tensor:
    """Return the offset of each of these samples in their blob; -1 for other samples."""
    start_N = torch.full_like(length_N, -1)
    start_N[number_S] = length_N[number_S].cumsum(0) - length_N[number_S]
    return start_N
