"""The shuffle of DIMD (Kumar et al., 2017): the ranks of a group exchange samples by an all-to-all of bytes.

The stream of samples from one rank to another is cut into rounds, because the counts of an all-to-all are 32-bit
numbers in MPI and the buffers must stay small: round k sends the samples whose first byte lies in the k-th segment of
the stream. Every rank knows the assignment and the lengths of all samples, so no counts are exchanged.

Memory: the old blob, the new blob, and twice the bytes of one round.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

SEGMENT_BYTES = 2**30


def exchange(
    blob: Tensor,
    length_N: Tensor,
    before: Sequence[Tensor],
    after: Sequence[Tensor],
    *,
    group: dist.ProcessGroup | None = None,
    segment: int = SEGMENT_BYTES,
) -> Tensor:
    """Return this rank's new blob with the samples after[rank]; `blob` has the samples before[rank].

    blob: uint8; length_N: bytes of every sample; before, after: the samples that each rank stores.
    """
    me, world = dist.get_rank(group), len(before)
    pair = max(1, segment // world)
    old_N, new_N = _starts(before[me], length_N), _starts(after[me], length_N)
    sent = _streams(before[me], _owner(after, len(length_N)), world)
    got = [_streams(number_S, _owner(after, len(length_N)), world)[me] for number_S in before]
    rounds = _most_rounds(before, after, length_N, pair=pair)
    new = torch.empty(int(length_N[after[me]].sum()), dtype=torch.uint8)
    for number in range(rounds):
        going = [_segment(stream_S, length_N, number, pair) for stream_S in sent]
        coming = [_segment(stream_S, length_N, number, pair) for stream_S in got]
        arrived = _all_to_all(
            torch.cat([_gather(blob, part_S, old_N, length_N) for part_S in going]),
            [int(length_N[part_S].sum()) for part_S in going],
            [int(length_N[part_S].sum()) for part_S in coming],
            group,
        )
        _scatter(new, arrived, torch.cat(coming), new_N, length_N)
    return new


def _starts(number_S: Tensor, length_N: Tensor) -> Tensor:
    """Return the offset of each of these samples in their blob; -1 for other samples."""
    start_N = torch.full_like(length_N, -1)
    start_N[number_S] = length_N[number_S].cumsum(0) - length_N[number_S]
    return start_N


def _owner(assignment: Sequence[Tensor], samples: int) -> Tensor:
    owner_N = torch.empty(samples, dtype=torch.int64)
    for rank, number_S in enumerate(assignment):
        owner_N[number_S] = rank
    return owner_N


def _streams(number_S: Tensor, owner_N: Tensor, world: int) -> list[Tensor]:
    """Return the samples that go to each rank, in order."""
    return [number_S[owner_N[number_S] == rank] for rank in range(world)]


def _most_rounds(before: Sequence[Tensor], after: Sequence[Tensor], length_N: Tensor, *, pair: int) -> int:
    """Return the rounds of the longest stream between two ranks; all ranks run this number of rounds."""
    owner_N = _owner(after, len(length_N))
    streams = [stream_S for number_S in before for stream_S in _streams(number_S, owner_N, len(before))]
    return max((int(_round_of(stream_S, length_N, pair)[-1]) + 1 for stream_S in streams if len(stream_S)), default=0)


def _round_of(stream_S: Tensor, length_N: Tensor, pair: int) -> Tensor:
    length_S = length_N[stream_S]
    return (length_S.cumsum(0) - length_S) // pair


def _segment(stream_S: Tensor, length_N: Tensor, number: int, pair: int) -> Tensor:
    return stream_S[_round_of(stream_S, length_N, pair) == number]


def _gather(blob: Tensor, number_S: Tensor, start_N: Tensor, length_N: Tensor) -> Tensor:
    starts, lengths = start_N[number_S].tolist(), length_N[number_S].tolist()
    pieces = [blob[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    return torch.cat(pieces) if pieces else blob[:0]


def _scatter(new: Tensor, arrived: Tensor, number_S: Tensor, start_N: Tensor, length_N: Tensor) -> None:
    starts, lengths = start_N[number_S].tolist(), length_N[number_S].tolist()
    for start, length, piece in zip(starts, lengths, torch.split(arrived, lengths), strict=True):
        new[start : start + length] = piece


def _all_to_all(sent: Tensor, going: list[int], coming: list[int], group: dist.ProcessGroup | None) -> Tensor:
    """Send going[r] bytes to every rank r; return coming[r] bytes from every rank r, in the order of the ranks."""
    arrived = torch.empty(sum(coming), dtype=torch.uint8)
    dist.all_to_all_single(arrived, sent, coming, going, group=group)
    return arrived
