"""The proof that a plan sums right, without a network: every rank ends with the same bits of the whole sum."""

from collections.abc import Iterable, Iterator

import numpy as np

from trainers.collectives.plan import Integers, Round, Sends


def check(rounds: Iterable[Round], *, world: int, chunks: int) -> None:
    """Prove that every rank ends with the same bits of every chunk's sum over all ranks, each counted once.

    Raise ValueError that names the first fault: the round, the ranks and the chunk.
    """
    state = _State(world, chunks)
    for number, sends in enumerate(rounds):
        try:
            state.deliver(Sends.of(sends))
        except ValueError as fault:
            raise ValueError(f"round {number}: {fault}") from None
    state.refuse_unfinished()


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
        pair = (min(left, right), max(left, right))
        if pair not in self._made:
            if twice := self._masks[left] & self._masks[right]:
                raise ValueError(f"counts {_ranks(twice)} twice")
            self._made[pair] = len(self._masks)
            self._masks.append(self._masks[left] | self._masks[right])
        return self._made[pair]

    def missing(self, number: int) -> int:
        return self._whole & ~self._masks[number]


def _ranks(mask: int) -> str:
    ranks = [str(rank) for rank in range(mask.bit_length()) if mask >> rank & 1]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}"


class _State:
    """What every rank holds: the cell rank x chunks + chunk has the number of a partial sum."""

    def __init__(self, world: int, chunks: int) -> None:
        self.world, self.chunks, self.sums = world, chunks, _Sums(world)
        self.held = np.repeat(np.arange(world), chunks)
        self._last = np.zeros_like(self.held)  # which line reached a cell last

    def deliver(self, sends: Sends) -> None:
        """Carry one round out; raise ValueError when its outcome would be wrong or a matter of timing."""
        self._refuse_misfits(sends)
        # one line per chunk that travels: its send, and the cells that it leaves and reaches
        send_C = np.repeat(np.arange(len(sends)), sends.size_M)
        chunk_C = np.arange(len(send_C)) + np.repeat(sends.start_M - _before(sends.size_M), sends.size_M)
        from_C = sends.src_M[send_C] * self.chunks + chunk_C
        into_C = sends.dst_M[send_C] * self.chunks + chunk_C
        self._refuse_reuse(sends, send_C, from_C, into_C)
        arriving_C, add_C = self.held[from_C], sends.add_M[send_C]
        for wave in self._waves(sends, send_C, into_C):
            kept = wave[~add_C[wave]]
            self.held[into_C[kept]] = arriving_C[kept]
            added = wave[add_C[wave]]
            self.held[into_C[added]] = self._added(sends, send_C[added], into_C[added], arriving_C[added])

    def refuse_unfinished(self) -> None:
        """Raise ValueError unless every rank has the same whole sum of every chunk."""
        missing = {number: self.sums.missing(number) for number in np.unique(self.held).tolist()}
        for cell in np.flatnonzero(np.isin(self.held, [number for number, ranks in missing.items() if ranks])):
            rank, chunk = divmod(int(cell), self.chunks)
            raise ValueError(f"rank {rank} ends without {_ranks(missing[self.held[cell]])} in chunk {chunk}")
        for cell in np.flatnonzero(self.held != np.tile(self.held[: self.chunks], self.world)):
            rank, chunk = divmod(int(cell), self.chunks)
            raise ValueError(f"ranks 0 and {rank} sum chunk {chunk} in different orders, so their bits may differ")

    def _refuse_misfits(self, sends: Sends) -> None:
        for ranks in (sends.src_M, sends.dst_M):
            for rank in ranks[(ranks < 0) | (ranks >= self.world)]:
                raise ValueError(f"there is no rank {rank} among {self.world}")
        for rank in sends.src_M[sends.src_M == sends.dst_M]:
            raise ValueError(f"rank {rank} sends to itself")
        stop_M = sends.start_M + sends.size_M
        for m in np.flatnonzero((sends.start_M < 0) | (stop_M > self.chunks)):
            run = range(sends.start_M[m], stop_M[m])
            raise ValueError(f"rank {sends.src_M[m]} sends {run}, which is no run of the {self.chunks} chunks")

    def _refuse_reuse(self, sends: Sends, send_C: Integers, from_C: Integers, into_C: Integers) -> None:
        leaving = np.zeros(len(self.held), dtype=np.bool_)
        leaving[from_C] = True
        for line in np.flatnonzero(leaving[into_C]):
            src, dst, chunk = sends.src_M[send_C[line]], sends.dst_M[send_C[line]], into_C[line] % self.chunks
            raise ValueError(f"rank {dst} sends chunk {chunk} while it receives it from rank {src}")

    def _waves(self, sends: Sends, send_C: Integers, into_C: Integers) -> Iterator[Integers]:
        """The lines in the plan's order, cut so that no cell is reached twice in one wave."""
        line_C = np.arange(len(into_C))
        self._last[into_C] = line_C
        if np.array_equal(self._last[into_C], line_C):
            yield line_C
            return
        order_C = np.argsort(into_C, kind="stable")
        again_C = np.diff(into_C[order_C], prepend=-1) == 0
        self._refuse_two_writers(sends, send_C, into_C, lines=(order_C[:-1][again_C[1:]], order_C[1:][again_C[1:]]))
        first = np.flatnonzero(~again_C)
        turn_C = line_C - np.repeat(first, np.diff(first, append=len(into_C)))
        for turn in range(int(turn_C.max()) + 1):
            yield order_C[turn_C == turn]

    def _refuse_two_writers(
        self, sends: Sends, send_C: Integers, into_C: Integers, *, lines: tuple[Integers, Integers]
    ) -> None:
        for first, second in zip(*lines, strict=True):
            one, other = send_C[first], send_C[second]
            if not (sends.add_M[one] and sends.add_M[other]):
                rank, chunk = divmod(int(into_C[first]), self.chunks)
                writers = f"ranks {sends.src_M[one]} and {sends.src_M[other]}"
                raise ValueError(f"{writers} both write chunk {chunk} of rank {rank}")

    def _added(self, sends: Sends, send_A: Integers, into_A: Integers, arriving_A: Integers) -> Integers:
        pairs, which_A = np.unique((self.held[into_A] << 32) | arriving_A, return_inverse=True)
        made = np.zeros(len(pairs), dtype=np.int64)
        for place, pair in enumerate(pairs.tolist()):
            try:
                made[place] = self.sums.add(pair >> 32, pair & 0xFFFFFFFF)
            except ValueError as fault:
                line = int(np.argmax(which_A == place))
                rank, chunk = divmod(int(into_A[line]), self.chunks)
                src = sends.src_M[send_A[line]]
                raise ValueError(f"rank {rank} {fault} in chunk {chunk}, adding from rank {src}") from None
        return made[which_A]


def _before(size_M: Integers) -> Integers:
    return np.cumsum(size_M) - size_M
