"""GroupGather: an all-gather inside several disjoint groups of ranks at once, through our own rings."""

import torch
from torch import Tensor

from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.runners.segments import segment_lengths
from trainers.preconditioners.gather_layout import GatherLayout


class GroupGather:
    """The gather of one rank; all ranks of all groups call it together."""

    def __init__(self, layout: GatherLayout, *, rank: int, timeout_s: float) -> None:
        self._layout = layout
        self._group, self._place = layout.find(rank)
        self._members = layout.groups[self._group]
        self.sent_words = 0  # by this rank, for tests
        self._is_needed = len(self._members) > 1 and any(map(any, layout.counts))
        if self._is_needed:
            self._run = make_allreduce(layout.plan(), chunks=layout.chunks, timeout_s=timeout_s)

    def gather(self, own_W: Tensor) -> dict[int, Tensor]:
        """Return the numbers of each member of this rank's group, its own included, by rank."""
        if not self._is_needed:
            return dict.fromkeys(self._members, own_W)
        length, spans = _place_blocks(self._layout, self._group, own_W.element_size())
        gathered_N = own_W.new_zeros(length)
        begin = 0
        for span in spans[self._place]:
            part = own_W[begin : begin + len(span)]
            gathered_N[span.start : span.start + len(part)] = part
            begin += len(span)
        self._run(gathered_N)
        after = (self._place + 1) % len(spans)
        self.sent_words += sum(sum(map(len, of)) for place, of in enumerate(spans) if place != after)
        parts = [torch.cat([own_W.new_empty(0), *(gathered_N[span.start : span.stop] for span in of)]) for of in spans]
        return dict(zip(self._members, parts, strict=True))


def _place_blocks(layout: GatherLayout, group: int, element_bytes: int) -> tuple[int, list[list[range]]]:
    """Return the length of the vector, and where the numbers of each member are.

    The runner cuts the vector into segments and each segment into the plan's chunks, so a member's numbers lie in
    several places. All ranks use one length: where rounding leaves a member of any group too little room, more.
    """
    length = layout.length
    while True:
        rooms = [_spans(layout, number, length, element_bytes) for number in range(len(layout.groups))]
        if all(
            sum(map(len, spans)) >= layout.unit * count
            for of_group, counts in zip(rooms, layout.counts, strict=True)
            for spans, count in zip(of_group, counts, strict=True)
        ):
            return length, rooms[group]
        length += layout.chunks


def _spans(layout: GatherLayout, group: int, length: int, element_bytes: int) -> list[list[range]]:
    blocks = [layout.block(group, place) for place in range(len(layout.groups[group]))]
    spans: list[list[range]] = [[] for _ in blocks]
    start = 0
    for segment in segment_lengths(length, element_bytes):
        for of_member, block in zip(spans, blocks, strict=True):
            begin, end = block.start * segment // layout.chunks, block.stop * segment // layout.chunks
            of_member.append(range(start + begin, start + end))
        start += segment
    return spans
