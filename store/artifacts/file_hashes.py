"""The hashes of input files, by path and status: a file whose status is the same is not read again."""

import os
import time
from datetime import datetime

from sqlalchemy import delete
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.tables.artifacts import FileHash
from store.tables.base import now

RACY_NS = 2_000_000_000  # a file that changed so shortly before it was read may change again without a trace


def find_hash(db: Session, path: str, status: os.stat_result) -> str | None:
    """Return the hash of a file; None if it is not known, or if the file may have changed since."""
    row = db.get(FileHash, path)
    if row is None or (row.size_bytes, row.mtime_ns, row.ctime_ns, row.inode) != _signature(status):
        return None
    return row.sha256


def store_hash(db: Session, path: str, status: os.stat_result, sha256: str, *, read_at_ns: int) -> None:
    """Store the hash of a file, unless the file changed so lately that its times may not show the next change."""
    if max(status.st_mtime_ns, status.st_ctime_ns) >= read_at_ns - RACY_NS:
        return
    size_bytes, mtime_ns, ctime_ns, inode = _signature(status)
    row = {"size_bytes": size_bytes, "mtime_ns": mtime_ns, "ctime_ns": ctime_ns, "inode": inode}
    add = insert_into(db, FileHash).values(path=path, sha256=sha256, used_at=now(), **row)
    change = {name: add.excluded[name] for name in (*row, "sha256", "used_at")}
    db.execute(add.on_conflict_do_update(index_elements=["path"], set_=change))


def remove_old(db: Session, used_before: datetime) -> None:
    """Remove hashes that were stored before a moment: their files are hashed again when a run names them."""
    db.execute(delete(FileHash).where(FileHash.used_at < used_before))


def now_ns() -> int:
    """Return the present moment, in the unit of files' times."""
    return time.time_ns()


def _signature(status: os.stat_result) -> tuple[int, int, int, str]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, str(status.st_ino)
