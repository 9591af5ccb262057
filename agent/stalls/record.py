"""The record of a stalled rank: which rank, in or before which collective, and at which line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from agent.stalls.suspects import RankView, Stall

MANY = 8


def describe(view: RankView, stall: Stall, host: str) -> str:
    """Return why the run fails, in one sentence with rank, collective and line."""
    cause = "its process is stopped" if view.is_stopped else "its process writes no notes" if not view.line else ""
    at = f" at {view.line}" if view.line else ""
    inside = f" in {view.collective}" if view.collective else ""
    text = f"rank {view.rank}{f' on {host}' if host else ''} made no progress for {_seconds(view)} s{inside}{at}"
    text += f": {cause}" if cause else ""
    waiting = [other for other in stall.waiting if other.collective]
    if not waiting:
        return text
    first = waiting[0]
    line = f" at {first.line}" if first.line else ""
    return f"{text}; {_ranks(waiting)} in {first.collective}{line}"


def write_record(attempts: Path, attempt: int, rank: int, **fields: Any) -> None:
    """Write the failure of a rank as contract/folder/rank_failure.py reads it; raise OSError."""
    record = {"at": time.time(), "rank": rank, "kind": "collective_timeout", **fields}
    draft = attempts / f".{attempt}.rank-{rank}.{token_hex(8)}"
    draft.write_text(json.dumps(record), encoding="utf-8")
    os.replace(draft, attempts / f"{attempt}.rank-{rank}.json")


def _seconds(view: RankView) -> str:
    return f"{view.silent_s if view.is_stopped else view.idle_s:.0f}"


def _ranks(views: Sequence[RankView]) -> str:
    numbers = [str(view.rank) for view in views]
    if len(numbers) == 1:
        return f"rank {numbers[0]} waits"
    if len(numbers) > MANY:
        return f"{len(numbers)} ranks wait"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]} wait"
