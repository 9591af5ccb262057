"""The schedule of one rank: the messages that the rank sends and receives, for each round of a plan."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from trainers.collectives.plan import Round, Send


@dataclass(frozen=True, slots=True)
class Message:
    """One send of the plan, seen by its sender or by its receiver."""

    peer: int
    number: int  # index among all messages from the sender to the receiver
    chunks: range
    add: bool
    chunks_before: int  # how many chunks the sender sends before this message in the whole plan


@dataclass(frozen=True, slots=True)
class RankRound:
    """The messages of one rank in one round."""

    round: int
    sends: list[Message]
    receives: list[Message]
    overwrites_sent: bool  # the round writes to chunks that this rank sent in an earlier round


def rank_schedule(rounds: Iterable[Round], rank: int) -> list[RankRound]:
    """Return the rounds in which `rank` sends or receives."""
    numbers: Counter[tuple[int, int]] = Counter()
    sent_chunks: Counter[int] = Counter()
    sent = _ChunkSet()
    schedule = []
    for number, all_sends in enumerate(rounds):
        sends, receives = [], []
        for send in all_sends:
            if send.src == rank:
                sends.append(_message(send, send.dst, numbers, sent_chunks[rank]))
            elif send.dst == rank:
                receives.append(_message(send, send.src, numbers, 0))
            else:
                continue
            sent_chunks[send.src] += len(send.chunks)
        if sends or receives:
            overwrites_sent = any(sent.meets(message.chunks) for message in receives)
            schedule.append(RankRound(number, sends, receives, overwrites_sent))
        for message in sends:
            sent.add(message.chunks)
    return schedule


def _message(send: Send, peer: int, numbers: Counter[tuple[int, int]], chunks_before: int) -> Message:
    numbers[send.src, send.dst] += 1
    return Message(peer, numbers[send.src, send.dst] - 1, send.chunks, send.add, chunks_before)


class _ChunkSet:
    """A set of chunks as disjoint ranges in order, because a plan can have millions of chunks."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def meets(self, chunks: range) -> bool:
        """Return whether any of `chunks` is in the set."""
        first = bisect_right(self._stops, chunks.start)
        return len(chunks) > 0 and first < len(self._starts) and self._starts[first] < chunks.stop

    def add(self, chunks: range) -> None:
        """Add `chunks`, and join the ranges that they touch."""
        if not len(chunks):
            return
        first, last = bisect_left(self._stops, chunks.start), bisect_right(self._starts, chunks.stop)
        start = min([chunks.start, *self._starts[first:last][:1]])
        stop = max([chunks.stop, *self._stops[first:last][-1:]])
        self._starts[first:last], self._stops[first:last] = [start], [stop]
