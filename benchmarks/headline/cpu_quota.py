"""CpuQuota: a process that gets a fixed share of a core, so that ranks of slow devices do not compete for few cores."""

import os
from pathlib import Path

PERIOD_US = 10_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


class CpuQuota:
    """Limits the processes that join to `share` of a core each, by a control group for each (Linux, root)."""

    def __init__(self, name: str, share: float) -> None:
        self._is_v1 = (V1 / "cpu.cfs_quota_us").exists()
        self.folder = (V1 if self._is_v1 else V2) / f"bigbatch-{name}"
        self._quota_us = round(PERIOD_US * share)

    def join(self) -> None:
        """Limit this process from now on."""
        self.folder.mkdir()
        if self._is_v1:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(self._quota_us))
        else:
            (self.folder / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """End the limit of this process, and remove its control group."""
        (self.folder.parent / "cgroup.procs").write_text(str(os.getpid()))
        self.folder.rmdir()
