"""The layout of an all-gather whose members have unequal numbers. This module loads no torch.

A plan's chunks are equally long, and the largest decomposition of a net may be as large as all others together. So the
vector of a group has many short chunks, of `unit` numbers, and each member as many of them as its numbers fill:

    unit = ceil(largest sum of a group / (chunks - members)),   member c: ceil(words_c / unit) chunks

In a ring of n ranks, each sends the blocks of all members but the next one's, which begins with its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from trainers.collectives.plan import Plan, Round, Send

CHUNKS_PER_MEMBER = 64


@dataclass(frozen=True)
class GatherLayout:
    """The layout of disjoint groups of equally many ranks, which gather at the same time."""

    groups: Sequence[Sequence[int]]
    chunks: int
    unit: int
    counts: Sequence[Sequence[int]]  # chunks of each member of each group

    @property
    def length(self) -> int:
        """The numbers of each group's vector."""
        return self.chunks * self.unit

    def block(self, group: int, place: int) -> range:
        """Return the chunks of a member."""
        start = sum(self.counts[group][:place])
        return range(start, start + self.counts[group][place])

    def sent_words(self, rank: int) -> int:
        """Return how many numbers a rank sends."""
        group, place = self.find(rank)
        counts = self.counts[group]
        return 0 if len(counts) == 1 else self.unit * (sum(counts) - counts[(place + 1) % len(counts)])

    def find(self, rank: int) -> tuple[int, int]:
        """Return the group of a rank, and its place there."""
        return self._places[rank]

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        return {rank: (number, place) for number, group in enumerate(self.groups) for place, rank in enumerate(group)}

    def plan(self) -> Plan:
        """Return the rounds of all groups together."""
        return Plan("gather", sum(map(len, self.groups)), self.chunks, self._rounds)

    def _rounds(self, own: int | None) -> Iterable[Round]:
        members = len(self.groups[0])
        for shift in range(members - 1):
            if own is None:
                yield [send for group in range(len(self.groups)) for send in self._round(group, shift)]
            else:
                group, place = self.find(own)
                places = sorted({place, (place - 1) % members})
                yield [send for number, send in enumerate(self._round(group, shift)) if number in places]

    def _round(self, group: int, shift: int) -> Iterator[Send]:
        """Yield the sends of a group's round in the order of their senders."""
        ranks = self.groups[group]
        for place, rank in enumerate(ranks):
            block = self.block(group, (place - shift) % len(ranks))
            yield Send(rank, ranks[(place + 1) % len(ranks)], block, add=False)


def lay_out(groups: Sequence[Sequence[int]], words: Sequence[int]) -> GatherLayout:
    """Return the layout for `words`, the numbers of each rank."""
    members = len(groups[0])
    chunks = CHUNKS_PER_MEMBER * members
    most = max(sum(words[rank] for rank in group) for group in groups)
    unit = max(1, -(-most // (chunks - members)))
    return GatherLayout(groups, chunks, unit, [[-(-words[rank] // unit) for rank in group] for group in groups])
