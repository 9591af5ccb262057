"""The API's requests and responses about code snapshots, shared with the dashboard and the Python client."""

from datetime import datetime
from enum import StrEnum

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.snapshot.git_source import GitSource
from contract.snapshot.manifest import EXAMPLE_HASH, MAX_FILES, Hash, PathText, SnapshotFile, SnapshotLink

MAX_REQUEST_BYTES = 32 << 20  # of the JSON text of a request, before its compression
MOMENT = "2026-11-23T08:00:00Z"
DIFF = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 0.1\n+lr = 0.2\n"


class SnapshotRequest(DescribedModel):
    """A tree: a whole one, or the changes to a tree that the service has."""

    model_config = ConfigDict(extra="forbid")

    base: Hash | None = Field(default=None, examples=[EXAMPLE_HASH])
    """Hash of a stored snapshot of which only the changes follow; null: the request lists the whole tree."""
    files: list[SnapshotFile] = Field(default=[], max_length=MAX_FILES)
    """The files, or those that `base` lacks or that differ there."""
    links: list[SnapshotLink] = Field(default=[], max_length=MAX_FILES)
    """The symbolic links, or those that `base` lacks or that differ there."""
    removed: list[PathText] = Field(default=[], max_length=MAX_FILES, examples=[["old.py"]])
    """Paths of `base` that the tree lacks."""
    source: GitSource | None = None
    """Where the tree comes from; null for a folder without git."""


class SnapshotState(DescribedModel):
    """Whether the service has a snapshot, and what it lacks."""

    hash: Hash
    """Hash of the snapshot: `code` of a program's spec."""
    is_stored: bool = Field(examples=[True])
    """Whether the snapshot is complete and can be run."""
    missing: list[Hash] = Field(examples=[[EXAMPLE_HASH]])
    """Hashes of the contents that the service lacks: upload them and send the request again."""


class Received(DescribedModel):
    """The result of an upload."""

    blobs: int = Field(examples=[12])
    """Number of contents that were stored."""


class SnapshotView(DescribedModel):
    """A stored snapshot."""

    hash: Hash
    """Hash of the snapshot: `code` of a program's spec."""
    created_at: datetime = Field(examples=[MOMENT])
    """When the snapshot was stored first."""
    files: int = Field(examples=[120])
    """Number of files and links."""
    size: int = Field(examples=[1_200_000])
    """Number of bytes of all files."""
    is_dirty: bool = Field(examples=[True])
    """Whether the tree differs from the commit."""
    source: GitSource | None
    """Where the tree came from when the snapshot was stored first; null for a folder without git."""


class FilePage(DescribedModel):
    """A part of a snapshot's list of files, in the order of the paths."""

    files: list[SnapshotFile]
    """The files."""
    links: list[SnapshotLink]
    """The symbolic links."""
    more: bool = Field(examples=[False])
    """Whether there are more behind the last path."""


class FileContent(DescribedModel):
    """A file of a snapshot."""

    path: PathText
    """Path of the file in the tree."""
    size: int = Field(examples=[4096])
    """Number of bytes of the whole file."""
    text: str | None = Field(examples=["import torch\n"])
    """The content; null if the file is no UTF-8 text."""
    is_shortened: bool = Field(examples=[True])
    """Whether `text` has only the beginning of the file."""


class Change(StrEnum):
    """How a file of one snapshot differs from the other."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class FileDifference(DescribedModel):
    """A file that differs between two snapshots."""

    path: PathText
    """Path of the file in the trees."""
    change: Change = Field(examples=["changed"])
    """How the file of the other snapshot differs from that of the first."""
    diff: str | None = Field(examples=[DIFF])
    """The difference in the unified format; null with a note."""
    note: str | None = Field(examples=["no text"])
    """Why there is no difference in the unified format; null if there is one."""


class SnapshotDifferences(DescribedModel):
    """The differences between the trees of two snapshots."""

    files: list[FileDifference]
    """The files that differ, in the order of the paths."""
    total: int = Field(examples=[3])
    """Number of all files that differ; `files` has at most the first 500."""
