"""What all sources have in common: they are read from cursors, which are accepted once the points are written."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from agent.sources.point import Point


class Reading(NamedTuple):
    """New points of a source, the cursors after them, and whether the source has more."""

    points: list[Point]
    cursors: dict[str, Any]
    more: bool


class Source(ABC):
    """One source of points."""

    is_shared = False  # other runs may write there too

    @abstractmethod
    def read(self, max_bytes: int) -> Reading:
        """Return what is new since the accepted cursors, about `max_bytes` of it at most."""

    @abstractmethod
    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""

    @abstractmethod
    def skip(self) -> None:
        """Leave out what the source holds now."""

    @abstractmethod
    def search_now(self) -> None:
        """Look for new files at the next read, if the source has several."""

    def has_output_of(self, attempt: int, agents: int) -> bool:
        """Return whether the output of all agents of the attempt has been read, if this source reads outputs."""
        return True


def resolve(run_folder: str, name: str | None) -> tuple[str, bool]:
    """Return the path of a name in the run's folder, or an absolute path; and whether it is outside of that folder."""
    root = os.path.realpath(run_folder)
    path = os.path.realpath(os.path.join(root, name or "."))
    return path, os.path.commonpath([root, path]) != root
