"""A plan as one rank sees it: what it sends and what it receives, turn by turn."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from trainers.collectives.plan import Round, Send


@dataclass(frozen=True, slots=True)
class Message:
    """One send of the plan, seen from one of its ends."""

    peer: int
    number: int  # among all messages from its sender to its receiver
    chunks: range
    add: bool
    before: int  # how many chunks its sender has sent before it in the whole plan


@dataclass(frozen=True, slots=True)
class Turn:
    """What this rank does in one round; rounds without it are left out."""

    round: int
    sends: list[Message]
    receives: list[Message]
    writes_sent: bool  # it writes to chunks that this rank sent in an earlier turn


def turns(rounds: Iterable[Round], rank: int) -> list[Turn]:
    """Return the turns of `rank`."""
    told: Counter[tuple[int, int]] = Counter()
    before: Counter[int] = Counter()
    sent: set[int] = set()
    out = []
    for number, sends in enumerate(rounds):
        mine, awaited = [], []
        for send in sends:
            if send.src == rank:
                mine.append(_message(send, send.dst, told, before[rank]))
            elif send.dst == rank:
                awaited.append(_message(send, send.src, told, 0))
            else:
                continue
            before[send.src] += len(send.chunks)
        if mine or awaited:
            landing = {chunk for message in awaited for chunk in message.chunks}
            out.append(Turn(number, mine, awaited, writes_sent=bool(landing & sent)))
        sent.update(chunk for message in mine for chunk in message.chunks)
    return out


def _message(send: Send, peer: int, told: Counter[tuple[int, int]], before: int) -> Message:
    told[send.src, send.dst] += 1
    return Message(peer, told[send.src, send.dst] - 1, send.chunks, send.add, before)
