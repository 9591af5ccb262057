"""The store of snapshots on disk: contents by their hash, and manifests.

blobs/AA/HASH         the content of a file; AA: the first two digits of its hash
manifests/HASH.json   the canonical text of a manifest
trash/HASH.TOKEN      what the garbage collection is about to remove (contract/snapshot/garbage.py)

The API writes, the scheduler reads. Jobs of the same user could replace a file, so each content is checked against its
hash wherever it is read, and no link is followed.
"""

import ctypes
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from contract.folder.files import untrusted_file
from contract.folder.files.untrusted_file import RegularFile, UnreadableFileError, open_folder
from contract.private_files import make_private_folder
from contract.snapshot.manifest import Manifest, parse_manifest

GRACE_S = 24 * 3600.0  # nothing younger is removed as garbage: an upload takes less
FRESH_S = GRACE_S / 2  # a younger file needs no new modification time
MAX_MANIFEST_BYTES = 64 << 20
CHUNK = 1 << 20
FOLDERS = ("blobs", "manifests", "trash")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DamagedError(Exception):
    """A stored content or manifest differs from its hash; a new upload of the same tree repairs it."""


class AbsentError(DamagedError):
    """A content or manifest is not in the store, or a shared file system does not show it yet."""


@dataclass(frozen=True)
class BlobStore:
    """The store in the folder `root`."""

    root: Path

    def prepare(self) -> None:
        """Make the folders of the store, readable only for this user; may raise OSError."""
        make_private_folder(self.root)
        for name in FOLDERS:
            (self.root / name).mkdir(exist_ok=True)
        if not (self.root / "blobs" / "ff").is_dir():
            for number in range(256):
                (self.root / "blobs" / f"{number:02x}").mkdir(exist_ok=True)

    def renew(self, blob: str, size: int) -> bool:
        """Return whether the content is stored, and protect it from the garbage collection for GRACE_S."""
        name = blob_name(blob)
        try:
            status = untrusted_file.stat_file(self.root, name)
            if status.st_size == size and time.time() - status.st_mtime > FRESH_S:
                self._renew_time(name)
        except (FileNotFoundError, UnreadableFileError):
            return False
        return status.st_size == size

    def open_blob(self, blob: str) -> RegularFile:
        """Open a content for reading; raise AbsentError without it. The caller checks the hash."""
        try:
            return untrusted_file.open_file(self.root, blob_name(blob))
        except (FileNotFoundError, UnreadableFileError) as error:
            raise AbsentError(f"the content {blob} is not in {self.root}") from error

    def read_blob(self, blob: str, max_bytes: int) -> bytes:
        """Return a whole content; raise DamagedError, or UnreadableFileError if it is larger than `max_bytes`."""
        with self.open_blob(blob) as file:
            content = file.read_all(max_bytes)
        if sha256(content).hexdigest() != blob:
            raise DamagedError(f"the content {blob} is damaged")
        return content

    def write_blob(self, blob: str, content: bytes) -> bool:
        """Store a whole content; return False, and store nothing, if it has another hash. May raise OSError."""
        if sha256(content).hexdigest() != blob:
            return False
        above, _, leaf = blob_name(blob).rpartition("/")
        draft = f".{leaf}.{token_hex(8)}"
        with open_folder(self.root, above) as folder:
            file = os.open(draft, _NEW, 0o644, dir_fd=folder)
            try:
                _write_all(file, content)
                os.replace(draft, leaf, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(draft, dir_fd=folder)
                raise
            finally:
                os.close(file)
        return True

    def begin_blob(self, blob: str) -> "BlobWriter":
        """Return a writer of a new content; may raise OSError."""
        return BlobWriter(self.root, blob)

    def write_manifest(self, manifest: Manifest) -> str:
        """Store a manifest on the disk, with all contents that were written before; return its hash."""
        text = manifest.canonical()
        name = sha256(text).hexdigest()
        with open_folder(self.root, "manifests") as folder:
            draft = f".{name}.{token_hex(8)}"
            with os.fdopen(os.open(draft, _NEW, 0o644, dir_fd=folder), "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            sync_file_system(folder)
            os.replace(draft, f"{name}.json", src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        return name

    def read_manifest(self, name: str) -> Manifest:
        """Return a stored manifest; raise DamagedError if it is absent or differs from its hash."""
        try:
            text = untrusted_file.read_file(self.root, f"manifests/{name}.json", MAX_MANIFEST_BYTES)
        except (FileNotFoundError, UnreadableFileError) as error:
            raise AbsentError(f"the manifest of snapshot {name} is not in {self.root}") from error
        if sha256(text).hexdigest() != name:
            raise DamagedError(f"the manifest of snapshot {name} is damaged")
        return parse_manifest(text)

    def renew_manifest(self, name: str) -> bool:
        """Return whether the manifest is stored, and protect it from the garbage collection for GRACE_S."""
        try:
            self._renew_time(f"manifests/{name}.json")
        except (FileNotFoundError, UnreadableFileError):
            return False
        return True

    def _renew_time(self, name: str) -> None:
        above, _, leaf = name.rpartition("/")
        with open_folder(self.root, above) as folder:
            os.utime(leaf, dir_fd=folder, follow_symlinks=False)


class BlobWriter:
    """Writes one content; it gets its name only if its hash is right."""

    def __init__(self, root: Path, blob: str) -> None:
        self._root, self._blob, self._digest = root, blob, sha256()
        self._folder_name, _, leaf = blob_name(blob).rpartition("/")
        self._leaf, self._draft = leaf, f".{leaf}.{token_hex(8)}"
        with open_folder(root, self._folder_name) as folder:
            self._file = os.open(self._draft, _NEW, 0o644, dir_fd=folder)

    def write(self, content: bytes | memoryview) -> None:
        """Append to the content."""
        self._digest.update(content)
        _write_all(self._file, content)

    def finish(self) -> bool:
        """Store the content under its hash; return False, and store nothing, if the content has another hash."""
        os.close(self._file)
        is_right = self._digest.hexdigest() == self._blob
        with open_folder(self._root, self._folder_name) as folder:
            if is_right:
                os.replace(self._draft, self._leaf, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.unlink(self._draft, dir_fd=folder)
        return is_right

    def abandon(self) -> None:
        """Remove the unfinished content."""
        with suppress(OSError):
            os.close(self._file)
        with suppress(OSError), open_folder(self._root, self._folder_name) as folder:
            os.unlink(self._draft, dir_fd=folder)


def _write_all(file: int, content: bytes | memoryview) -> None:
    while content:
        content = memoryview(content)[os.write(file, content) :]


def blob_name(blob: str) -> str:
    """Return the name of a content below the store."""
    return f"blobs/{blob[:2]}/{blob}"


def sync_file_system(descriptor: int) -> None:
    """Return after all files of the descriptor's file system are on the disk: one call for thousands of small files."""
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        os.sync()  # not Linux
        return
    if syncfs(descriptor):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
