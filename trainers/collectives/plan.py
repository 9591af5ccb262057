"""A collective as plain data: rounds of sends between ranks. No torch here.

A round is any sequence of Send; `Sends` is one held as columns, so that thousands of ranks are a few numpy calls.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Send:
    """One message: `src` sends its slices `chunks` of the flat vector to `dst`."""

    src: int
    dst: int
    chunks: range
    add: bool  # the receiver adds what arrives; otherwise it keeps it in place of its own


Round = Sequence[Send]  # everything in one round is in flight together


@dataclass(frozen=True, eq=False, slots=True)
class Sends(Sequence[Send]):
    """A round of M sends as columns: send m takes `size_M[m]` chunks from `start_M[m]` on."""

    src_M: Integers
    dst_M: Integers
    start_M: Integers
    size_M: Integers
    add_M: Flags

    @classmethod
    def of(cls, sends: Round) -> "Sends":
        """Any round as columns."""
        if isinstance(sends, Sends):
            return sends
        rows = [(s.src, s.dst, s.chunks.start, len(s.chunks), s.add) for s in sends]
        src_M, dst_M, start_M, size_M, add_M = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return cls(src_M, dst_M, start_M, size_M, add_M.astype(np.bool_))

    @classmethod
    def alike(cls, src_M: Integers, dst_M: Integers, chunks: range, *, add: bool) -> "Sends":
        """A round in which every send carries the same `chunks`."""
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
            return self.where(index)
        return next(iter(self.where(slice(index, index + 1 or None))))

    def where(self, chosen: slice | Flags | Integers) -> "Sends":
        """The chosen ones of the sends."""
        return Sends(
            self.src_M[chosen], self.dst_M[chosen], self.start_M[chosen], self.size_M[chosen], self.add_M[chosen]
        )

    @property
    def columns(self) -> tuple[Integers, Integers, Integers, Integers, Flags]:
        return self.src_M, self.dst_M, self.start_M, self.size_M, self.add_M


@dataclass(frozen=True)
class Plan:
    """A collective among given ranks. Iterate over it for its rounds, as often as you like."""

    kind: str
    world: int
    chunks: int  # the vector is cut into this many parts of equal length
    make: Callable[[], Iterable[Round]] = field(repr=False)
    shape: Mapping[str, int] = field(default_factory=dict)  # what tells it from others of its kind: rows, k, ...

    def __iter__(self) -> Iterator[Round]:
        return iter(self.make())

    def of(self, rank: int) -> Iterator[list[Send]]:
        """What `rank` sends and receives, round by round; empty where it only looks on."""
        for sends in map(Sends.of, self):
            yield list(sends.where((sends.src_M == rank) | (sends.dst_M == rank)))


def split(chunks: range, parts: int) -> list[range]:
    """Cut `chunks` into `parts` runs, as equal as whole chunks allow."""
    return [chunks[len(chunks) * part // parts : len(chunks) * (part + 1) // parts] for part in range(parts)]


def together(*plans: Iterable[Round]) -> Iterator[Round]:
    """Run plans side by side: their first rounds become one round, their second ones the next, and so on."""
    for rounds in zip_longest(*plans, fillvalue=()):
        columns = [Sends.of(sends).columns for sends in rounds if len(sends)]
        yield Sends(*map(np.concatenate, zip(*columns, strict=True))) if columns else ()
