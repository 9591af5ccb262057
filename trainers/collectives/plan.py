"""A plan: a collective as plain data, rounds of sends between ranks. This module does not need torch.

A round is any sequence of Send. `Sends` is a round in columns, so that thousands of ranks take few numpy calls.

A plan makes the rounds of all ranks, for proofs and prices, or directly the sends of one rank (`own`), for the rank
itself: on 4,096 ranks a ring has 33 million sends, of which a rank takes part in 16,380.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Operation = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"]


@dataclass(frozen=True, slots=True)
class Send:
    """One message: `src` sends the chunks `chunks` of its flat vector to `dst`."""

    src: int
    dst: int
    chunks: range
    add: bool  # the receiver adds the chunks to its own chunks; otherwise it replaces its own chunks


Round = Sequence[Send]  # all messages of one round travel at the same time


@dataclass(frozen=True, eq=False, slots=True)
class Sends(Sequence[Send]):
    """A round of M sends as columns: send m carries `size_M[m]` chunks, the first is `start_M[m]`."""

    src_M: Integers
    dst_M: Integers
    start_M: Integers
    size_M: Integers
    add_M: Flags

    @classmethod
    def of(cls, sends: Round) -> "Sends":
        """Return any round as columns."""
        if isinstance(sends, Sends):
            return sends
        rows = [(s.src, s.dst, s.chunks.start, len(s.chunks), s.add) for s in sends]
        src_M, dst_M, start_M, size_M, add_M = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return cls(src_M, dst_M, start_M, size_M, add_M.astype(np.bool_))

    @classmethod
    def with_same_chunks(cls, src_M: Integers, dst_M: Integers, chunks: range, *, add: bool) -> "Sends":
        """Return a round in which every send carries the same `chunks`."""
        start_M, size_M = np.full(len(src_M), chunks.start), np.full(len(src_M), len(chunks))
        return cls(src_M, dst_M, start_M, size_M, np.full(len(src_M), add))

    def __len__(self) -> int:
        return len(self.src_M)

    def __iter__(self) -> Iterator[Send]:
        rows = zip(*(column.tolist() for column in self.columns), strict=True)
        return (Send(src, dst, range(start, start + size), add) for src, dst, start, size, add in rows)

    @overload
    def __getitem__(self, index: int) -> Send: ...
    @overload
    def __getitem__(self, index: slice) -> "Sends": ...
    def __getitem__(self, index: int | slice) -> "Send | Sends":
        if isinstance(index, slice):
            return self.select(index)
        return next(iter(self.select(slice(index, index + 1 or None))))

    def select(self, chosen: slice | Flags | Integers) -> "Sends":
        """Return the sends at a slice, a mask or indices."""
        return Sends(
            self.src_M[chosen], self.dst_M[chosen], self.start_M[chosen], self.size_M[chosen], self.add_M[chosen]
        )

    def has_same_load(self, other: "Sends") -> bool:
        """Return whether both have the same arrays of ranks and sizes; equal numbers in different arrays do not count.

        The comparison of identities is fast, so prices evaluate the equal rounds of a ring once.
        """
        same = (self.src_M is other.src_M, self.dst_M is other.dst_M)
        return all((*same, self.size_M is other.size_M, self.add_M is other.add_M))

    @property
    def columns(self) -> tuple[Integers, Integers, Integers, Integers, Flags]:
        """Return src_M, dst_M, start_M, size_M, add_M."""
        return self.src_M, self.dst_M, self.start_M, self.size_M, self.add_M


@dataclass(frozen=True)
class Plan:
    """A collective over `world` ranks; each iteration over the plan yields all its rounds again."""

    kind: str
    world: int
    chunks: int  # the vector is cut into this many chunks of equal length
    make: Callable[[int | None], Iterable[Round]] = field(repr=False)  # None: of all ranks; a rank: its own sends
    shape: Mapping[str, int] = field(default_factory=dict)  # the parameters of the kind: rows, k, ...
    operation: Operation = "all_reduce"

    def __iter__(self) -> Iterator[Round]:
        return iter(self.make(None))

    def rounds_of(self, rank: int) -> Iterator[list[Send]]:
        """Yield for each round the sends from and to `rank`; a round without them is an empty list."""
        for sends in self.make(rank):
            yield list(sends)


def split(chunks: range, parts: int) -> list[range]:
    """Split `chunks` into `parts` ranges whose lengths differ by at most one chunk."""
    return [chunks[len(chunks) * part // parts : len(chunks) * (part + 1) // parts] for part in range(parts)]


def own_sends(sends: Round, own: int | None) -> Round:
    """Return the sends from and to the rank `own`; all sends without a rank."""
    return sends if own is None else [send for send in sends if own in (send.src, send.dst)]


def run_in_parallel(*plans: Iterable[Round], own: int | None = None) -> Iterator[Round]:
    """Merge plans round by round: the first rounds of all plans become one round, then the second rounds, and so on.

    `own`: the plans are the sends of that rank alone, which are few, so a list serves better than columns.
    """
    before: list[Sends] = []
    merged: Round = ()
    for rounds in zip_longest(*plans, fillvalue=()):
        if own is not None:
            yield [send for sends in rounds for send in sends]
            continue
        parts = [Sends.of(sends) for sends in rounds if len(sends)]
        merged = _merge(parts, before, merged)
        before = parts
        yield merged


def _merge(parts: list[Sends], before: list[Sends], merged: Round) -> Round:
    """Return one round of all parts; of parts that only carry other chunks than those before, as `merged` has them."""
    if not parts:
        return ()
    is_same = len(parts) == len(before) and all(map(Sends.has_same_load, parts, before))
    if is_same and isinstance(merged, Sends):
        return replace(merged, start_M=np.concatenate([part.start_M for part in parts]))
    return Sends(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))
