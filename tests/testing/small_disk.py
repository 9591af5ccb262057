"""A small file system in memory, which a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testing.needs import require


@contextmanager
def small_disk(path: Path, size_mb: int) -> Iterator[Path]:
    """Mount a file system of so many megabytes at a new folder, which others cannot write as they can in /tmp."""
    require([] if os.geteuid() == 0 else ["needs root to mount a small disk"])
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0755", "tmpfs", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)
