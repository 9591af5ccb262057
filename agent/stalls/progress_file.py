"""The progress of a rank, from attempts/N.progress-R; bigbatch/injected/stalls/stall_notes.py writes the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

MAX_BYTES = 1 << 14
MAX_TEXT = 300


class Note(NamedTuple):
    """What a rank has noted about itself."""

    pid: int
    beats: int
    steps: int
    counts: tuple[int, ...]  # of steps, batches, and collectives that have begun and ended
    begun: int
    moves: int
    collective: str | None
    line: str
    is_over: bool


def read_note(attempts: Path, attempt: int, rank: int) -> Note | None:
    """Return the rank's note, None without a readable one."""
    try:
        file = os.open(attempts / f"{attempt}.progress-{rank}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            values = json.loads(os.read(file, MAX_BYTES))
        finally:
            os.close(file)
        return _note(values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def points_bytes(folder: Path, rank: int) -> int:
    """Return the size of the file to which the rank's `bigbatch.log` appends, 0 without one."""
    name = f"points/rank-{rank}.jsonl" if rank else "events.jsonl"
    try:
        return os.lstat(folder / name).st_size
    except OSError:
        return 0


def _note(values: dict[str, Any]) -> Note:
    numbers = [int(values[name]) for name in ("steps", "batches", "begun", "ended")]
    collective = values["collective"]
    return Note(
        pid=int(values["pid"]),
        beats=int(values["beats"]),
        steps=numbers[0],
        counts=tuple(numbers),
        begun=numbers[2],
        moves=int(values["moves"]),
        collective=None if collective is None else _one_line(collective),
        line=_one_line(values["line"]),
        is_over=values["is_over"] is True,
    )


def _one_line(text: object) -> str:
    return " ".join(str(text)[:MAX_TEXT].split())
