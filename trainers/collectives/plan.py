"""A collective as plain data: rounds of sends between ranks, and the proof that a plan sums right. No torch here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest


@dataclass(frozen=True, slots=True)
class Send:
    """One message: `src` sends its slices `chunks` of the flat vector to `dst`."""

    src: int
    dst: int
    chunks: range
    add: bool  # the receiver adds what arrives; otherwise it keeps it in place of its own


Round = Sequence[Send]  # everything in one round is in flight together


def split(chunks: range, parts: int) -> list[range]:
    """Cut `chunks` into `parts` runs of equal length."""
    size, rest = divmod(len(chunks), parts)
    if rest:
        raise ValueError(f"{len(chunks)} chunks do not split into {parts} equal parts")
    return [chunks[part * size : (part + 1) * size] for part in range(parts)]


def together(*plans: Iterable[Round]) -> Iterator[Round]:
    """Run plans side by side: their first rounds become one round, their second ones the next, and so on."""
    for rounds in zip_longest(*plans, fillvalue=()):
        yield list(chain.from_iterable(rounds))


def check(rounds: Iterable[Round], *, world: int, chunks: int) -> None:
    """Prove that every rank ends with the same bits of every chunk's sum over all ranks, each counted once.

    Raise ValueError that names the first fault: the round, the ranks and the chunk.
    """
    sums = _Sums(world)
    held = [[rank] * chunks for rank in range(world)]  # held[rank][chunk] is a number that _Sums knows
    for number, sends in enumerate(rounds):
        try:
            _deliver(sends, held, sums)
        except ValueError as fault:
            raise ValueError(f"round {number}: {fault}") from None
    for chunk in range(chunks):
        for rank in range(world):
            if missing := sums.missing(held[rank][chunk]):
                raise ValueError(f"rank {rank} ends without {_ranks(missing)} in chunk {chunk}")
            if held[rank][chunk] != held[0][chunk]:
                message = f"ranks 0 and {rank} sum chunk {chunk} in different orders, so their bits may differ"
                raise ValueError(message)


class _Sums:
    """Partial sums as numbers: rank r's own part is r, and the same two parts always make the same number.

    a + b and b + a are the same bits in floating point, (a + b) + c and a + (b + c) are not: two partial sums
    have one number exactly when they are the same bits whatever the values are.
    """

    def __init__(self, world: int) -> None:
        self._masks = [1 << rank for rank in range(world)]  # which ranks' parts are inside
        self._made: dict[tuple[int, int], int] = {}
        self._whole = (1 << world) - 1

    def add(self, left: int, right: int) -> int:
        if twice := self._masks[left] & self._masks[right]:
            raise ValueError(f"counts {_ranks(twice)} twice")
        pair = (min(left, right), max(left, right))
        if pair not in self._made:
            self._made[pair] = len(self._masks)
            self._masks.append(self._masks[left] | self._masks[right])
        return self._made[pair]

    def missing(self, number: int) -> int:
        return self._whole & ~self._masks[number]


def _ranks(mask: int) -> str:
    ranks = [str(rank) for rank in range(mask.bit_length()) if mask >> rank & 1]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}"


def _deliver(sends: Round, held: list[list[int]], sums: _Sums) -> None:
    """Carry one round out on `held`; raise ValueError when its outcome would be wrong or a matter of timing."""
    for send in sends:
        _refuse_misfit(send, world=len(held), chunks=len(held[0]))
    sent = {(send.src, chunk): held[send.src][chunk] for send in sends for chunk in send.chunks}
    arrived: dict[tuple[int, int], Send] = {}
    for send in sends:
        for chunk in send.chunks:
            place = (send.dst, chunk)
            if place in sent:
                raise ValueError(f"rank {send.dst} sends chunk {chunk} while it receives it from rank {send.src}")
            before = arrived.setdefault(place, send)
            if before is not send and not (before.add and send.add):
                raise ValueError(f"ranks {before.src} and {send.src} both write chunk {chunk} of rank {send.dst}")
            held[send.dst][chunk] = _merge(send, chunk, sent[send.src, chunk], held=held, sums=sums)


def _refuse_misfit(send: Send, *, world: int, chunks: int) -> None:
    for rank in (send.src, send.dst):
        if not 0 <= rank < world:
            raise ValueError(f"there is no rank {rank} among {world}")
    if send.src == send.dst:
        raise ValueError(f"rank {send.src} sends to itself")
    if send.chunks.step != 1 or (send.chunks and not (send.chunks[0] >= 0 and send.chunks[-1] < chunks)):
        raise ValueError(f"rank {send.src} sends {send.chunks}, which is no run of the {chunks} chunks")


def _merge(send: Send, chunk: int, arriving: int, *, held: list[list[int]], sums: _Sums) -> int:
    if not send.add:
        return arriving
    try:
        return sums.add(held[send.dst][chunk], arriving)
    except ValueError as fault:
        raise ValueError(f"rank {send.dst} {fault} in chunk {chunk}, adding from rank {send.src}") from None
