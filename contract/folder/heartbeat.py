"""The heartbeat of an attempt: an empty file whose modification time a running rank 0 renews."""

from pathlib import Path
from secrets import token_hex
from typing import NamedTuple


class Heartbeat(NamedTuple):
    """The newest heartbeat: its modification time, and its age by the clock of the file system."""

    stamp: float
    age_s: float


def read_heartbeat(path: Path) -> Heartbeat | None:
    """Return the newest heartbeat in the file `path`; None if the file does not exist or cannot be read.

    A new file beside `path` has the file system's present time, so the age does not depend on this host's clock.
    """
    try:
        stamp = path.stat().st_mtime
        probe = path.with_name(f".{token_hex(8)}.probe")
        probe.touch()
        present = probe.stat().st_mtime
        probe.unlink()
    except OSError:
        return None
    return Heartbeat(stamp, present - stamp)
