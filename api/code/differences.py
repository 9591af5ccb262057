"""The differences between two trees: which files differ, and how the lines of text files do."""

import time
from collections.abc import Iterator
from difflib import unified_diff
from io import StringIO
from itertools import islice

from contract.api.snapshots import Change, FileDifference, SnapshotDifferences
from contract.folder.bounds import printable
from contract.folder.files.untrusted_file import UnreadableFileError
from contract.snapshot.blob_store import BlobStore, DamagedError
from contract.snapshot.manifest import Manifest, SnapshotFile, SnapshotLink

MAX_FILES = 500  # in an answer
MAX_TEXT_BYTES, MAX_LINES = 200_000, 3_000  # of a file whose lines are compared: the work may grow with their square
MAX_DIFF_LINES = 1_000
BUDGET_S = 3.0  # for the lines of all files
Entry = SnapshotFile | SnapshotLink | None


def compare_trees(store: BlobStore, first: Manifest, second: Manifest) -> SnapshotDifferences:
    """Return the files of `second` that differ from those of `first`, within bounds of size and time."""
    old, new = first.by_path, second.by_path
    differing = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    until = time.monotonic() + BUDGET_S
    shown = [_difference(store, path, (old.get(path), new.get(path)), until) for path in differing[:MAX_FILES]]
    return SnapshotDifferences(files=shown, total=len(differing))


def _difference(store: BlobStore, path: str, pair: tuple[Entry, Entry], until: float) -> FileDifference:
    old, new = pair
    change = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
    note: str | None
    try:
        diff, note = "".join(_lines(store, path, pair, until)), None
    except _NotComparableError as error:
        diff, note = None, str(error)
    return FileDifference(path=path, change=change, diff=diff, note=note)


class _NotComparableError(Exception):
    """The message says why the lines of two files are not compared."""


def _lines(store: BlobStore, path: str, pair: tuple[Entry, Entry], until: float) -> Iterator[str]:
    """Yield the lines of the difference; raise _NotComparableError."""
    texts = [_text(store, entry, until) for entry in pair]
    old, new = (list(StringIO(text, newline="\n")) for text in texts)
    if max(len(old), len(new)) > MAX_LINES:
        raise _NotComparableError(f"more than {MAX_LINES:,} lines")
    names = [f"{side}/{path}" if entry else "/dev/null" for side, entry in zip("ab", pair, strict=True)]
    for mode in _modes(pair):
        yield f"{mode}\n"
    found = unified_diff(old, new, names[0], names[1])
    for line in islice(found, MAX_DIFF_LINES):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    if next(found, None) is not None:
        yield f"[more than {MAX_DIFF_LINES:,} lines]\n"


def _modes(pair: tuple[Entry, Entry]) -> list[str]:
    """Return lines about a change of the kind or the permission of a file."""
    kinds = [_kind(entry) for entry in pair]
    if None in pair or kinds[0] == kinds[1]:
        return []
    return [f"old mode {kinds[0]}", f"new mode {kinds[1]}"]


def _kind(entry: Entry) -> str:
    """Return the mode as git prints it."""
    if isinstance(entry, SnapshotLink):
        return "120000"
    return "100755" if entry and entry.executable else "100644"


def _text(store: BlobStore, entry: Entry, until: float) -> str:
    if entry is None:
        return ""
    if isinstance(entry, SnapshotLink):
        return f"{entry.target}\n"
    if entry.size > MAX_TEXT_BYTES:
        raise _NotComparableError(f"{entry.size:,} bytes, more than {MAX_TEXT_BYTES:,}")
    if time.monotonic() > until:
        raise _NotComparableError("too many differences to show them all")
    try:
        content = store.read_blob(entry.sha256, MAX_TEXT_BYTES)
    except (DamagedError, UnreadableFileError) as error:
        raise _NotComparableError(str(error)) from error
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _NotComparableError("no text")
    return printable(text)
