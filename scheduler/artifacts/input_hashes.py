"""The hashes of a run's inputs, which the service reads outside any transaction."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from contract.folder.files.untrusted_file import stat_file
from contract.folder.outputs.content import hash_content, hash_file
from store.artifacts.file_hashes import find_hash, now_ns, store_hash
from store.session import snapshot, transaction


def hash_input(engine: Engine, path: str, progress: Callable[[], None]) -> str:
    """Return the hash of an input file or folder; raise ContentError or OSError for one that cannot be read."""
    real = Path(os.path.realpath(path))  # a person wrote the path, which may lead over links
    return hash_content(real.parent, real.name, partial(_hash_file, engine, progress)).sha256


def _hash_file(engine: Engine, progress: Callable[[], None], folder: Path, name: str) -> str:
    """Return the hash of a file; read the file only if its status has changed since it was last hashed."""
    path, status, read_at_ns = f"{folder}/{name}", stat_file(folder, name), now_ns()
    with snapshot(engine) as db:
        if known := find_hash(db, path, status):
            return known
    digest = hash_file(folder, name, progress)
    with transaction(engine) as db:
        store_hash(db, path, status, digest, read_at_ns=read_at_ns)
    return digest
