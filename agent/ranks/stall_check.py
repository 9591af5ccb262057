"""The check for ranks that make no progress, which agent/stalls makes for the processes of one agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.folder.run_folder import RunFolder
from agent.ranks.rank_process import RankProcess
from agent.stalls.watch import StallWatch


def stall_check(
    folder: RunFolder, attempt: int, spec: Mapping[str, Any], started: Sequence[RankProcess], hosts: Sequence[str]
) -> Callable[[], bool]:
    """Return a function that tells whether the attempt has stalled; it may be called often."""
    minutes = spec.get("stall_minutes")
    pids = {process.rank: process.pid for process in started}
    watch = StallWatch(folder.path, attempt, pids=pids, hosts=hosts, limit_s=minutes * 60.0 if minutes else None)
    return watch.check
