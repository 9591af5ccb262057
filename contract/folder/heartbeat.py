"""The heartbeat of an attempt: an empty file whose modification time a running rank 0 renews."""

import os
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from contract.folder.files.untrusted_file import open_folder, stat_file, touch_file


class Heartbeat(NamedTuple):
    """The newest heartbeat: its modification time, and its age by the clock of the file system."""

    stamp: float
    age_s: float


def read_heartbeat(folder: Path, name: str) -> Heartbeat | None:
    """Return the newest heartbeat in the file `name`; None if the file does not exist or cannot be read.

    A new file beside it has the file system's present time, so the age does not depend on this host's clock.
    """
    above = name.rpartition("/")[0]
    probe = f"{above}/.{token_hex(8)}.probe"
    try:
        stamp = stat_file(folder, name).st_mtime
        touch_file(folder, probe)
        present = stat_file(folder, probe).st_mtime
        with open_folder(folder, above) as parent:
            os.unlink(probe.rpartition("/")[2], dir_fd=parent)
    except OSError:
        return None
    return Heartbeat(stamp, present - stamp)
