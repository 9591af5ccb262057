"""Records of TensorBoard at the end of an event file, written by the package tensorboardX.

An event has the values of one step. TensorBoard leaves out what it has read of a step and later ones when an event with
SessionLog.START comes: so an attempt that resumes replaces the steps that it repeats.
"""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any, Protocol, cast

from contract.folder.events import Event, Points, Resumed
from contract.folder.files.untrusted_file import open_for_append, stat_file

MISSING = "BIGBATCH_TENSORBOARD is set, and the package tensorboardX is missing: pip install 'bigbatch[tensorboard]'"
FILE_VERSION = "brain.Event:2"
APPEND = "append"  # the prefix of paths that tensorboardX opens at their end


class Records(Protocol):
    """An open event file."""

    def write(self, data: bytes) -> None:
        """Write a record with its length and its checksums."""

    def flush(self) -> None:
        """Return after the records are on the disk."""

    def close(self) -> None:
        """Close the file."""


def check_package() -> None:
    """Raise ValueError if tensorboardX is missing."""
    if find_spec("tensorboardX") is None:
        raise ValueError(MISSING)


def append(path: Path, size: int, events: Iterable[Event], began: float) -> int:
    """Write events behind the first `size` bytes of an event file, in the place of what a crash left there.

    A new file begins with its version, of the moment `began`. Return the size of the file when all is on the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_for_append(path.parent, path.name) as file:
        file.truncate(size)
    writer = _open(path)
    try:
        if not size:
            writer.write(_encoded(wall_time=began, file_version=FILE_VERSION))
        for event in events:
            if isinstance(event, Points) and event.values:
                writer.write(_encoded(wall_time=event.at, step=event.step, summary=_summary(event.values)))
            elif isinstance(event, Resumed):
                writer.write(_encoded(wall_time=event.at, step=event.step + 1, session_log=_start()))
        writer.flush()
    finally:
        writer.close()
    return stat_file(path.parent, path.name).st_size


def _open(path: Path) -> Records:
    from tensorboardX.record_writer import RecordWriter, register_writer_factory

    register_writer_factory(APPEND, _AtTheEnd)
    found: Records = RecordWriter(f"{APPEND}:{path}")
    return found


class _AtTheEnd:
    """How tensorboardX opens a file: its own way would make the file empty."""

    @staticmethod
    def open(path: str) -> Any:
        """Return the file, with a buffer: a record is written in four parts."""
        folder, _, name = path.removeprefix(f"{APPEND}:").rpartition("/")
        return BufferedWriter(cast(FileIO, open_for_append(Path(folder), name)))

    @staticmethod
    def directory_check(path: str) -> None:
        """Do nothing: the folder is there."""


def _encoded(**fields: Any) -> bytes:
    from tensorboardX.proto.event_pb2 import Event as Record

    found: bytes = Record(**fields).SerializeToString()
    return found


def _summary(values: Mapping[str, float | None]) -> Any:
    from tensorboardX.proto.summary_pb2 import Summary

    numbers = {name: float("nan") if value is None else value for name, value in values.items()}
    return Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in numbers.items()])


def _start() -> Any:
    from tensorboardX.proto.event_pb2 import SessionLog

    return SessionLog(status=SessionLog.START)
