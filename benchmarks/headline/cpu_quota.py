"""CpuQuota: a process that gets a fixed share of a core, so that ranks of slow devices do not compete for few cores."""

import os
from pathlib import Path

PERIOD_US = 10_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def missing() -> str:
    """Return why this machine cannot limit a process, or an empty string."""
    if os.geteuid():
        return "control groups need root"
    if _is_v1() or "cpu" in _read(V2 / "cgroup.subtree_control").split():
        return ""
    return f"the cpu controller of control groups is neither in {V1} nor enabled in {V2}/cgroup.subtree_control"


class CpuQuota:
    """Limits the processes that join to `share` of a core together, by a control group (Linux, root)."""

    def __init__(self, name: str, share: float) -> None:
        root = V1 if _is_v1() else V2
        self.folder, self._before = root / f"bigbatch-{name}", root / _own_group().lstrip("/")
        self._quota_us = round(PERIOD_US * share)

    def join(self) -> None:
        """Limit this process from now on."""
        self.folder.mkdir()
        if _is_v1():
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(self._quota_us))
        else:
            (self.folder / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """End the limit of this process, and remove its control group."""
        (self._before / "cgroup.procs").write_text(str(os.getpid()))
        self.folder.rmdir()


def _is_v1() -> bool:
    return (V1 / "cpu.cfs_quota_us").exists()


def _own_group() -> str:
    """Return the path of this process's control group in the hierarchy of the cpu controller."""
    for line in _read(OWN).splitlines():
        _, controllers, path = line.split(":", 2)
        if ("cpu" in controllers.split(",")) if _is_v1() else not controllers:
            return path
    return "/"


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
