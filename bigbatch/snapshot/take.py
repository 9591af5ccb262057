"""A snapshot of a folder: capture it, send what the service lacks, and say by which hash programs run it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bigbatch.snapshot.capture import MAX_MB, capture
from bigbatch.snapshot.errors import FileChangedError
from bigbatch.snapshot.upload import upload
from contract.snapshot.git_source import GitSource

if TYPE_CHECKING:
    from bigbatch.client import Client

TRIES = 3  # of a tree whose files change meanwhile


class SnapshotRef(NamedTuple):
    """A snapshot that the service has: `code` and `subfolder` of a program's spec."""

    hash: str
    subfolder: str | None  # the folder below the root of its repository; None for the root
    files: int
    size: int  # bytes
    source: GitSource | None  # None without git
    left_out: Sequence[str]  # a sentence for each file that is not in the snapshot
    ignored: Sequence[str] = ()  # "data/ (2 files, 3.0 MB)" for what .gitignore keeps out


def take_snapshot(folder: Path | str, client: "Client", *, max_mb: float = MAX_MB) -> SnapshotRef:
    """Store the tree of the git repository that contains `folder`, or of the folder without git, as it is now.

    The tree has the tracked, staged, changed and untracked files that .gitignore does not name. Raise SnapshotError if
    it is larger than `max_mb`, and the errors of the client.
    """
    for number in range(TRIES):
        taken = capture(Path(folder), max_mb=max_mb)
        try:
            name = upload(taken, client)
        except FileChangedError:
            if number == TRIES - 1:
                raise
            continue
        manifest = taken.manifest
        files = len(manifest.files) + len(manifest.links)
        return SnapshotRef(name, taken.subfolder, files, manifest.size, taken.source, taken.left_out, taken.ignored)
    raise AssertionError("unreachable")
