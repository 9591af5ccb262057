"""Processes that the kernel killed because a cgroup's memory limit was reached: the counter oom_kill, v1 and v2."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def count_oom_kills(cgroup: Path = Path("/proc/self/cgroup"), root: Path = ROOT) -> int | None:
    """Return the number of such kills in this process's cgroup; None if the kernel does not show it."""
    try:
        lines = cgroup.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            file = root / path.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            file = root / "memory" / path.lstrip("/") / "memory.oom_control"
        else:
            continue
        with suppress(OSError):
            if found := re.search(r"^oom_kill (\d+)$", file.read_text(), re.M):
                return int(found[1])
    return None
