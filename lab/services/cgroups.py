"""The cgroups by which the lab limits the memory of jobs: whether the machine has them, and their removal."""

import errno
import os
import time
from pathlib import Path

from lab.errors import LabError
from lab.layout import Layout

ROOT = Path("/sys/fs/cgroup")


def missing(root: Path = ROOT) -> list[str]:
    """Return the reason why memory cannot be limited here; the list is empty if it can."""
    unified = root / "cgroup.controllers"
    if unified.exists():
        return (
            [] if "memory" in unified.read_text().split() else [f"The kernel's cgroups in {root} have no memory limit."]
        )
    folder = root / "memory"
    if not (folder / "memory.oom_control").exists():
        return [f"There is no cgroup hierarchy for memory in {folder}."]
    return [] if os.access(folder, os.W_OK) else [f"This user may not make cgroups in {folder}."]


def remove(layout: Layout, root: Path = ROOT, *, patience_s: float = 10) -> None:
    """Remove what slurmd leaves of cgroups version 1; a process that has just ended may be in them for a moment."""
    deadline = time.monotonic() + patience_s
    for host in layout.hosts:
        top = root / "memory" / f"slurm_{host.name}"
        for folder, _, _ in os.walk(top, topdown=False):
            while not _is_removed(folder):
                if time.monotonic() > deadline:
                    raise LabError(f"{folder} cannot be removed within {patience_s:.0f} s: a process is still in it")
                time.sleep(0.05)


def _is_removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True
