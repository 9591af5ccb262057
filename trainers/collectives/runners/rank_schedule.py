"""The schedule of one rank: the messages that the rank sends and receives, for each round of a plan."""

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
    sent: set[int] = set()
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
            written = {chunk for message in receives for chunk in message.chunks}
            schedule.append(RankRound(number, sends, receives, overwrites_sent=bool(written & sent)))
        sent.update(chunk for message in sends for chunk in message.chunks)
    return schedule


def _message(send: Send, peer: int, numbers: Counter[tuple[int, int]], chunks_before: int) -> Message:
    numbers[send.src, send.dst] += 1
    return Message(peer, numbers[send.src, send.dst] - 1, send.chunks, send.add, chunks_before)
