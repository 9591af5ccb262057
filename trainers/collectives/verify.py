"""Verification of a plan without a network: every rank must end with the same bits of what the operation promises."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from trainers.collectives.plan import Integers, Operation, Round, Sends, split


def verify_plan(rounds: Iterable[Round], *, world: int, chunks: int) -> None:
    """Prove that every rank ends with the same bits of each chunk's sum, which counts every rank exactly once.

    Raise ValueError with the first error: the round, the ranks and the chunk.
    """
    _deliver(rounds, world=world, chunks=chunks).raise_if_unfinished()


def verify_operation(rounds: Iterable[Round], operation: Operation, *, ranks: Sequence[int], chunks: int) -> None:
    """Prove that a plan among `ranks` does what its operation promises; the i-th block belongs to ranks[i].

    Raise ValueError with the first error: the round, the ranks and the chunk.
    """
    values = _deliver(rounds, world=len(ranks), chunks=chunks)
    owner_C = np.concatenate(
        [np.full(len(block), rank) for rank, block in zip(ranks, split(range(chunks), len(ranks)), strict=True)]
    )
    first_C = np.full(chunks, ranks[0])
    match operation:
        case "all_reduce":
            values.raise_if_unfinished()
        case "all_gather":
            values.raise_unless_copied(owner_C)
        case "broadcast":
            values.raise_unless_copied(first_C)
        case "reduce_scatter":
            values.raise_unless_summed(owner_C)
        case "reduce":
            values.raise_unless_summed(first_C)


def _deliver(rounds: Iterable[Round], *, world: int, chunks: int) -> "_RankValues":
    values = _RankValues(world, chunks)
    for number, sends in enumerate(rounds):
        try:
            values.deliver(Sends.of(sends))
        except ValueError as error:
            raise ValueError(f"round {number}: {error}") from None
    return values


class _PartialSums:
    """Number the partial sums: the value of rank r is r, and the sum of the same two numbers is always the same number.

    a + b and b + a have the same bits in floating point; (a + b) + c and a + (b + c) do not. So two partial sums have
    the same number exactly if they have the same bits for all values.
    """

    def __init__(self, world: int) -> None:
        self._masks = [1 << rank for rank in range(world)]  # the ranks that each partial sum contains
        self._numbers: dict[tuple[int, int], int] = {}
        self._all_ranks = (1 << world) - 1

    def add(self, left: int, right: int) -> int:
        """Return the number of left + right; raise ValueError if both contain the same rank."""
        pair = (min(left, right), max(left, right))
        if pair not in self._numbers:
            if twice := self._masks[left] & self._masks[right]:
                raise ValueError(f"counts {_rank_names(twice)} twice")
            self._numbers[pair] = len(self._masks)
            self._masks.append(self._masks[left] | self._masks[right])
        return self._numbers[pair]

    def missing(self, number: int) -> int:
        """Return the mask of the ranks that a partial sum does not contain."""
        return self._all_ranks & ~self._masks[number]


def _rank_names(mask: int) -> str:
    ranks = [str(rank) for rank in range(mask.bit_length()) if mask >> rank & 1]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}"


class _RankValues:
    """The value of every chunk on every rank: cell rank x chunks + chunk holds the number of a partial sum.

    The arrays with suffix C have one entry for each chunk that a round's sends carry: its send, its source cell, and
    its destination cell.
    """

    def __init__(self, world: int, chunks: int) -> None:
        self.world, self.chunks, self.sums = world, chunks, _PartialSums(world)
        self.cells = np.repeat(np.arange(world), chunks)
        self._last = np.zeros_like(self.cells)  # the last entry that reached each cell

    def deliver(self, sends: Sends) -> None:
        """Apply one round; raise ValueError if its result is wrong or depends on timing."""
        self._check_ranks_and_chunks(sends)
        send_C = np.repeat(np.arange(len(sends)), sends.size_M)
        chunk_C = np.arange(len(send_C)) + np.repeat(sends.start_M - _sum_before(sends.size_M), sends.size_M)
        from_C = sends.src_M[send_C] * self.chunks + chunk_C
        into_C = sends.dst_M[send_C] * self.chunks + chunk_C
        self._check_simultaneous_use(sends, send_C, from_C, into_C)
        arriving_C, add_C = self.cells[from_C], sends.add_M[send_C]
        for entries in self._split_by_destination(sends, send_C, into_C):
            replaced = entries[~add_C[entries]]
            self.cells[into_C[replaced]] = arriving_C[replaced]
            added = entries[add_C[entries]]
            self.cells[into_C[added]] = self._add(sends, send_C[added], into_C[added], arriving_C[added])

    def raise_if_unfinished(self) -> None:
        """Raise ValueError unless every rank has the same complete sum of every chunk."""
        missing = {number: self.sums.missing(number) for number in np.unique(self.cells).tolist()}
        for cell in np.flatnonzero(np.isin(self.cells, [number for number, ranks in missing.items() if ranks])):
            rank, chunk = divmod(int(cell), self.chunks)
            raise ValueError(f"rank {rank} ends without {_rank_names(missing[self.cells[cell]])} in chunk {chunk}")
        for cell in np.flatnonzero(self.cells != np.tile(self.cells[: self.chunks], self.world)):
            rank, chunk = divmod(int(cell), self.chunks)
            raise ValueError(f"ranks 0 and {rank} sum chunk {chunk} in different orders, so their bits may differ")

    def raise_unless_summed(self, owner_C: Integers) -> None:
        """Raise ValueError unless the owner of every chunk has the complete sum of the chunk."""
        for chunk, owner in enumerate(owner_C.tolist()):
            if missing := self.sums.missing(int(self.cells[owner * self.chunks + chunk])):
                raise ValueError(f"rank {owner} ends without {_rank_names(missing)} in chunk {chunk}")

    def raise_unless_copied(self, owner_C: Integers) -> None:
        """Raise ValueError unless every rank has the value of each chunk's owner."""
        for cell in np.flatnonzero(self.cells != np.tile(owner_C, self.world)):
            rank, chunk = divmod(int(cell), self.chunks)
            raise ValueError(f"rank {rank} ends without the value of rank {owner_C[chunk]} in chunk {chunk}")

    def _check_ranks_and_chunks(self, sends: Sends) -> None:
        for ranks in (sends.src_M, sends.dst_M):
            for rank in ranks[(ranks < 0) | (ranks >= self.world)]:
                raise ValueError(f"rank {rank} is not in the world of {self.world} ranks")
        for rank in sends.src_M[sends.src_M == sends.dst_M]:
            raise ValueError(f"rank {rank} sends to itself")
        stop_M = sends.start_M + sends.size_M
        for m in np.flatnonzero((sends.start_M < 0) | (stop_M > self.chunks)):
            outside = range(sends.start_M[m], stop_M[m])
            raise ValueError(f"rank {sends.src_M[m]} sends {outside}, but the plan has only {self.chunks} chunks")

    def _check_simultaneous_use(self, sends: Sends, send_C: Integers, from_C: Integers, into_C: Integers) -> None:
        """Raise ValueError if a rank sends and receives the same chunk in this round."""
        is_sent = np.zeros(len(self.cells), dtype=np.bool_)
        is_sent[from_C] = True
        for entry in np.flatnonzero(is_sent[into_C]):
            src, dst, chunk = sends.src_M[send_C[entry]], sends.dst_M[send_C[entry]], into_C[entry] % self.chunks
            raise ValueError(f"rank {dst} sends chunk {chunk} while it receives it from rank {src}")

    def _split_by_destination(self, sends: Sends, send_C: Integers, into_C: Integers) -> Iterator[Integers]:
        """Yield the entries in the plan's order, split so that no two entries together reach the same cell."""
        entry_C = np.arange(len(into_C))
        self._last[into_C] = entry_C
        if np.array_equal(self._last[into_C], entry_C):
            yield entry_C
            return
        order_C = np.argsort(into_C, kind="stable")
        is_repeat_C = np.diff(into_C[order_C], prepend=-1) == 0
        self._check_writers(
            sends, send_C, into_C, entries=(order_C[:-1][is_repeat_C[1:]], order_C[1:][is_repeat_C[1:]])
        )
        first = np.flatnonzero(~is_repeat_C)
        repeat_C = entry_C - np.repeat(first, np.diff(first, append=len(into_C)))
        for repeat in range(int(repeat_C.max()) + 1):
            yield order_C[repeat_C == repeat]

    def _check_writers(
        self, sends: Sends, send_C: Integers, into_C: Integers, *, entries: tuple[Integers, Integers]
    ) -> None:
        """Raise ValueError if two entries reach the same cell and one of them replaces its value."""
        for first, second in zip(*entries, strict=True):
            left, right = send_C[first], send_C[second]
            if not (sends.add_M[left] and sends.add_M[right]):
                rank, chunk = divmod(int(into_C[first]), self.chunks)
                writers = f"ranks {sends.src_M[left]} and {sends.src_M[right]}"
                raise ValueError(f"{writers} both write chunk {chunk} of rank {rank}")

    def _add(self, sends: Sends, send_A: Integers, into_A: Integers, arriving_A: Integers) -> Integers:
        """Return the numbers of the sums of the arriving values and the cells' values."""
        pairs, pair_A = np.unique((self.cells[into_A] << 32) | arriving_A, return_inverse=True)
        numbers = np.zeros(len(pairs), dtype=np.int64)
        for index, pair in enumerate(pairs.tolist()):
            try:
                numbers[index] = self.sums.add(pair >> 32, pair & 0xFFFFFFFF)
            except ValueError as error:
                entry = int(np.argmax(pair_A == index))
                rank, chunk = divmod(int(into_A[entry]), self.chunks)
                src = sends.src_M[send_A[entry]]
                raise ValueError(f"rank {rank} {error} in chunk {chunk} when it adds from rank {src}") from None
        return numbers[pair_A]


def _sum_before(size_M: Integers) -> Integers:
    return np.cumsum(size_M) - size_M
