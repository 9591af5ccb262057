"""The end of a run's events: the last step that an attempt itself reported, and a last line that is damaged.

An attempt that repeats steps is behind what its run has stored. A line is damaged that a full disk or the end of a host
cut off, or whose bytes are others now.
"""

from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Finished, Paused, Points, event_reader
from contract.folder.files.untrusted_file import open_file
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder

END_BYTES = 1 << 16  # of the file's end: hundreds of lines


class FileEnd(NamedTuple):
    """What the end of the file shows of an attempt."""

    reached: int | None = None  # its last step; 0 without one, None if the file cannot be read
    damaged: bytes | None = None  # the last line of the file, if that is no event


def read_file_end(folder: RunFolder, attempt: int) -> FileEnd:
    """Read the end of the events of a run whose attempt ends."""
    try:
        with open_file(folder.path, EVENTS) as file:
            end = file.read(max(0, file.size - END_BYTES), END_BYTES)
    except OSError:
        return FileEnd()
    lines = [line for line in end.split(b"\n") if line]
    is_first, damaged = True, None
    for line in reversed(lines):
        try:
            event = read_record(event_reader, line)
        except ValidationError:
            damaged = line if is_first else damaged
            is_first = False
            continue
        is_first = False
        if isinstance(event, Points | Paused | Finished) and event.attempt == attempt:
            return FileEnd(event.step, damaged)
    return FileEnd(0, damaged)
