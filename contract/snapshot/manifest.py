"""The manifest of a code snapshot: the files and links of a tree, whose hash is the snapshot's hash."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter

from contract.described_model import DescribedModel

MAX_FILES = 50_000
MAX_FILE_BYTES = 2 << 30
MAX_TREE_BYTES = 4 << 30
MAX_PATH_CHARS = 1_000
HASH_PATTERN = r"^[0-9a-f]{64}$"
EXAMPLE_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
Hash = Annotated[str, Field(pattern=HASH_PATTERN, examples=[EXAMPLE_HASH])]
PathText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, examples=["models/net.py"])]


class SnapshotFile(DescribedModel):
    """A regular file of a snapshot."""

    path: PathText
    """Path of the file in the tree, with "/" between its parts."""
    sha256: Hash
    """SHA-256 of the content."""
    size: int = Field(ge=0, le=MAX_FILE_BYTES, examples=[4096])
    """Number of bytes."""
    executable: bool = Field(default=False, examples=[False])
    """Whether the owner may execute the file; a tree has no other permissions."""


class SnapshotLink(DescribedModel):
    """A symbolic link of a snapshot."""

    path: PathText
    """Path of the link in the tree, with "/" between its parts."""
    target: PathText
    """Target of the link, relative to the link's folder; the target is inside the tree."""


class Manifest(NamedTuple):
    """The files and links of a tree, each in the order of the paths."""

    files: tuple[SnapshotFile, ...]
    links: tuple[SnapshotLink, ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each content, by its hash."""
        return {file.sha256: file.size for file in self.files}

    @property
    def entries(self) -> list[SnapshotFile | SnapshotLink]:
        """The files, and then the links."""
        return [*self.files, *self.links]

    @property
    def by_path(self) -> dict[str, SnapshotFile | SnapshotLink]:
        """The files and links by path."""
        return {entry.path: entry for entry in self.entries}

    def canonical(self) -> bytes:
        """Return the one JSON text of the manifest: equal trees have equal texts."""
        files = [[file.path, file.sha256, file.size, file.executable] for file in self.files]
        links = [[link.path, link.target] for link in self.links]
        return json.dumps({"files": files, "links": links, "version": 1}, separators=(",", ":")).encode()

    def hash(self) -> str:
        """Return the hash of the snapshot."""
        return sha256(self.canonical()).hexdigest()


_FILES, _LINKS = TypeAdapter(list[SnapshotFile]), TypeAdapter(list[SnapshotLink])


def make_manifest(entries: Iterable[SnapshotFile | SnapshotLink]) -> Manifest:
    """Return the manifest of the entries, in any order."""
    in_order = sorted(entries, key=lambda entry: entry.path)
    files = tuple(entry for entry in in_order if isinstance(entry, SnapshotFile))
    return Manifest(files, tuple(entry for entry in in_order if isinstance(entry, SnapshotLink)))


def change_manifest(base: Manifest, changed: Iterable[SnapshotFile | SnapshotLink], removed: Iterable[str]) -> Manifest:
    """Return the manifest with entries replaced, added and removed."""
    entries = base.by_path
    for path in removed:
        entries.pop(path, None)
    entries |= {entry.path: entry for entry in changed}
    return make_manifest(entries.values())


def parse_manifest(text: bytes) -> Manifest:
    """Return the manifest of a canonical text; raise ValueError."""
    document: Mapping[str, Any] = json.loads(text)
    names = ("path", "sha256", "size", "executable")
    files = _FILES.validate_python([dict(zip(names, row, strict=True)) for row in document["files"]])
    links = _LINKS.validate_python([{"path": path, "target": target} for path, target in document["links"]])
    return Manifest(tuple(files), tuple(links))
