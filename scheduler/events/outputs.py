"""The record of the outputs of a run that reports its end."""

from collections.abc import Sequence

from contract.folder.events import Event, Finished
from contract.folder.files.untrusted_file import UnreadableFileError
from contract.folder.outputs.record import OUTPUTS, OutputsRecord, read_outputs
from contract.folder.run_folder import RunFolder
from store.runs import LiveRun


class OutputsNotVisibleError(Exception):
    """The run reports a record of its outputs, and the file system does not show it yet."""


def read_finished_outputs(folder: RunFolder, run: LiveRun, events: Sequence[Event]) -> OutputsRecord | None:
    """Return the record if the events have the end of the run's attempt; None without a record that can be read.

    Raise OutputsNotVisibleError if the job wrote a record that is not there: its host wrote it before the event, so a
    later tick sees it. A run whose record stays away ends after some ticks (scheduler/events/uncollected.py).
    """
    mine = (event for event in events if isinstance(event, Finished) and event.attempt == run.attempt)
    if not any(event.outputs for event in mine):
        return None
    try:
        return _read(folder, run)
    except FileNotFoundError as error:
        raise OutputsNotVisibleError(f"{OUTPUTS}, in which the run lists its outputs, is not there") from error


def read_any_outputs(folder: RunFolder, run: LiveRun) -> OutputsRecord | None:
    """Return the record of the run's attempt; None without one that can be read."""
    try:
        return _read(folder, run)
    except FileNotFoundError:
        return None


def _read(folder: RunFolder, run: LiveRun) -> OutputsRecord | None:
    try:
        record = read_outputs(folder.path)
    except (UnreadableFileError, ValueError):
        return None
    return record if record.attempt == run.attempt else None
