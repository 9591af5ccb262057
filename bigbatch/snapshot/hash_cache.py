"""A cache of the hashes of files, as git's index is one: a file whose status is the same is not read again."""

import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from contract.user_home import expand_user

RACY_NS = 2_000_000_000  # a file that changed so shortly before it was read may change again without a trace
VERSION = 1


def cache_folder() -> Path:
    """Return this user's folder for caches of snapshots."""
    above = expand_user(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache"), "XDG_CACHE_HOME")
    return above / "bigbatch" / "snapshots"


class HashCache:
    """The hashes of the files of one tree, by path and status (size, times and inode)."""

    def __init__(self, root: Path) -> None:
        key = sha256(os.fsencode(root)).hexdigest()[:32]
        self._path = cache_folder() / f"{key}.json"
        document = self._load()
        self._known: dict[str, list[Any]] = document.get("files", {})
        self._new: dict[str, list[Any]] = {}
        self.last: str | None = document.get("last")  # the hash of the last snapshot of this tree

    def find(self, path: str, status: os.stat_result) -> str | None:
        """Return the hash of a file; None if the file may have changed since it was read."""
        known = self._known.get(path)
        if known is None or known[:4] != _signature(status):
            return None
        self._new[path] = known
        return str(known[4])

    def add(self, path: str, status: os.stat_result, content_hash: str, *, read_at_ns: int) -> None:
        """Add the hash of a file, unless the file changed so lately that its times may not show the next change."""
        if max(status.st_mtime_ns, status.st_ctime_ns) < read_at_ns - RACY_NS:
            self._new[path] = [*_signature(status), content_hash]

    def save(self, last: str) -> None:
        """Store the cache; a cache that cannot be written costs time alone."""
        if self._new == self._known and last == self.last:
            return
        text = json.dumps({"version": VERSION, "last": last, "files": self._new}, separators=(",", ":"))
        write_cache(self._path, text.encode())

    def _load(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            document = json.loads(self._path.read_bytes())
            if isinstance(document, dict) and document.get("version") == VERSION:
                return document
        return {}


def write_cache(path: Path, content: bytes) -> None:
    """Write a file of the cache as a whole, or not at all."""
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)


def now_ns() -> int:
    """Return the present moment, in the unit of files' times."""
    return time.time_ns()


def _signature(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
