"""The last step that an attempt itself reported: an attempt that repeats steps is behind what its run has stored."""

from pydantic import ValidationError

from contract.folder.events import Finished, Paused, Points, event_reader
from contract.folder.files.untrusted_file import open_file
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder

END_BYTES = 1 << 16  # of the file's end: hundreds of lines


def read_reached(folder: RunFolder, attempt: int) -> int | None:
    """Return the step; 0 if the end of the file has none of this attempt, None if the file cannot be read."""
    try:
        with open_file(folder.path, EVENTS) as file:
            end = file.read(max(0, file.size - END_BYTES), END_BYTES)
    except OSError:
        return None
    for line in reversed(end.splitlines()):
        try:
            event = read_record(event_reader, line)
        except ValidationError:
            continue
        if isinstance(event, Points | Paused | Finished) and event.attempt == attempt:
            return event.step
    return 0
