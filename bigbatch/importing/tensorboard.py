"""TensorBoard's event files: each folder that has some is a run, and each tag of scalars a metric."""

import os
from collections.abc import Iterator
from pathlib import Path

from agent.sources.records import read_records
from agent.sources.summaries import scalars_of
from bigbatch.errors import BigbatchError
from bigbatch.importing.imported_run import ImportedRun

EVENT_FILE = ".tfevents."  # a part of the name of each event file
READ_BYTES = 1 << 22


class NoEventFiles(BigbatchError):
    """The folder has no event files."""

    exit_code = 2


def read_tensorboard(folder: Path) -> Iterator[ImportedRun]:
    """Yield the runs below a folder, in the order of their paths; raise NoEventFiles. No link is followed."""
    if not folder.is_dir():
        raise NoEventFiles(f"{folder} is no folder")
    found = False
    for path, folders, names in os.walk(folder):
        folders.sort()
        files = sorted(name for name in names if EVENT_FILE in name)
        if not files:
            continue
        found = True
        place = Path(path).relative_to(folder).as_posix()
        run = ImportedRun(key=place, name=folder.resolve().name if place == "." else place)
        for name in files:
            _read_file(run, os.path.join(path, name))
        yield run
    if not found:
        raise NoEventFiles(f"neither {folder} nor a folder below it has event files of TensorBoard (*{EVENT_FILE}*)")


def _read_file(run: ImportedRun, path: str) -> None:
    cursor, more = 0, True
    while more:
        part = read_records(path, cursor, READ_BYTES)
        for record in part.records:
            if point := scalars_of(record):
                for name, value in point.values.items():
                    run.add(name, point.step, value, point.at)
        more = part.more and part.cursor > cursor
        cursor = part.cursor
    if os.path.getsize(path) > cursor:
        run.notes += f"{os.path.basename(path)}: {os.path.getsize(path) - cursor:,} bytes at its end are damaged.\n"
