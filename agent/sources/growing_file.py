"""Reading of files while a program writes them: new whole lines from a byte on, and the files below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from runfiles.regular_file import open_regular

MAX_LINE_BYTES = 1 << 16  # a line that is longer than this one may be read in parts
MAX_ENTRIES = 100_000  # of all folders that are searched: a copy of the code may be among them
MAX_FOLDER_DEPTH = 6


class Lines(NamedTuple):
    """New whole lines, the byte after the last one, whether the file goes on, and the bytes of a line without an end.

    `is_inside`: the bytes before the cursor belong to a line that is longer than one read, and that goes on.
    """

    lines: list[bytes]
    cursor: int
    more: bool
    rest: bytes = b""
    is_inside: bool = False


def read_lines(path: str, cursor: int, max_bytes: int, *, may_restart: bool = True, keep_ends: bool = False) -> Lines:
    """Read the whole lines from byte `cursor` on; a line without its end waits. None of a file that is absent.

    A file that has become shorter was written anew: it is read from its beginning if it `may_restart`.
    `keep_ends`: with the ends of the lines, so that their lengths tell their places.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            start = 0 if may_restart and cursor > size else cursor
            file.seek(start)
            new = file.read(max_bytes)
    except OSError:
        return Lines([], cursor, False)
    end = new.rfind(b"\n") + 1
    is_full = len(new) == max_bytes
    if not end and is_full:
        return Lines([], start + len(new), True, is_inside=True)
    return Lines(new[:end].splitlines(keep_ends), start + end, is_full, b"" if is_full else new[end:])


def find_files(folder: str, part_of_name: str) -> list[str]:
    """Return the paths below `folder` of the files whose names contain the text, in order of the names."""
    return sorted(path for path in _files_below(folder) if part_of_name in os.path.basename(path))


def _files_below(folder: str) -> Iterator[str]:
    """Yield the paths of files, those in the nearest folders first; links to folders are not followed."""
    folders, seen = [(folder, 0)], 0
    while folders:
        path, depth = folders.pop(0)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_ENTRIES:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        if depth < MAX_FOLDER_DEPTH:
                            folders.append((entry.path, depth + 1))
                    else:
                        yield entry.path
        except OSError:
            continue
