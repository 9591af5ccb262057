"""What all sources have in common: they are read from cursors, which are accepted once the points are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from agent.sources.left_out import LeftOut
from agent.sources.point import Point


class Rest(Enum):
    """What the bytes behind the last whole line or record are."""

    WAITS = "waits"  # the program may still write the end
    WHOLE = "whole"  # the program has ended by itself, and has written a last line without its newline
    TORN = "torn"  # the program may have been killed while it wrote


class Reading(NamedTuple):
    """New points of a source, the cursors after them, whether the source has more, and what was left out."""

    points: list[Point]
    cursors: dict[str, Any]
    more: bool
    left_out: LeftOut


class Source(ABC):
    """One source of points."""

    is_shared = False  # what it holds at the run's start is of others: other runs may write there, or it came with code

    @abstractmethod
    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Return what is new since the accepted cursors, about `max_bytes` of it at most."""

    @abstractmethod
    def reason_for_nothing(self) -> str:
        """Return why the source has no metric, if nothing was read and nothing left out."""

    @abstractmethod
    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""

    @abstractmethod
    def skip(self) -> None:
        """Leave out what the source holds now."""

    @abstractmethod
    def search_now(self) -> None:
        """Look for new files at the next read, if the source has several."""

    @abstractmethod
    def begin(self, attempt: int, ranks: int) -> None:
        """Leave earlier attempts, whose rest has been read, for this one, whose ranks start after the call."""

    def has_output_of(self, ranks: int) -> bool:
        """Return whether the output of so many ranks has been read to its end, if this source reads outputs."""
        return True

    def finished(self, cursors: Mapping[str, Any]) -> set[str] | None:
        """Return the files in `attempts` that are read to their end by these cursors; None if it reads none there."""
        return None
