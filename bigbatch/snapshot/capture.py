"""Capture of a tree: the manifest of the files as they are, without anything being sent."""

import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from bigbatch.snapshot import git_tree, plain_tree
from bigbatch.snapshot.errors import SnapshotError
from bigbatch.snapshot.hash_cache import HashCache, now_ns
from bigbatch.snapshot.homes import without_homes
from bigbatch.snapshot.ignored import describe_ignored
from contract.snapshot.check_paths import check_manifest, reason_against_target
from contract.snapshot.git_source import GitSource
from contract.snapshot.manifest import MAX_PATH_CHARS, Manifest, SnapshotFile, SnapshotLink, make_manifest

MAX_MB = 200  # by default; more is data, which belongs elsewhere
LARGEST = 10  # files that an error lists
READERS = 8
CHUNK = 1 << 20
Entry = SnapshotFile | SnapshotLink


class Capture(NamedTuple):
    """A tree as it is: its root, its manifest, where it comes from, and what was left out."""

    root: Path
    subfolder: str | None  # the asked folder below the root
    manifest: Manifest
    source: GitSource | None
    left_out: Sequence[str]  # a sentence for each file
    cache: HashCache
    ignored: Sequence[str] = ()  # "data/ (2 files, 3.0 MB)" for what git ignores


def capture(folder: Path, *, max_mb: float = MAX_MB) -> Capture:
    """Return the tree of the repository that contains the folder, or of the folder; raise SnapshotError."""
    folder = folder.resolve()
    if not folder.is_dir():
        raise SnapshotError(f"{folder} is no folder")
    tree = git_tree.find_working_tree(folder)
    if tree and (found := _from_git(tree, max_mb)):
        return found
    return _make_capture(folder, plain_tree.list_files(folder), None, None, max_mb)


def _from_git(tree: git_tree.WorkingTree, max_mb: float) -> Capture | None:
    """Return the tree of a repository; None if the repository ignores the asked folder."""
    with ThreadPoolExecutor(1) as other:
        source = other.submit(git_tree.read_source, tree.root)
        names = git_tree.list_files(tree.root)
        if tree.prefix and not any(name.startswith(tree.prefix) for name in names):
            return None
        made = _make_capture(tree.root, names, tree.prefix.rstrip("/") or None, source.result(), max_mb)
    return made._replace(ignored=describe_ignored(tree.root, git_tree.list_ignored(tree.root)))


def _make_capture(
    root: Path, names: Sequence[str], subfolder: str | None, source: GitSource | None, max_mb: float
) -> Capture:
    names, left_out = without_homes(str(root), names)
    statuses = _statuses(root, names)
    _refuse_large(root, statuses, max_mb)
    cache = HashCache(root)
    links = [name for name, status in statuses.items() if stat.S_ISLNK(status.st_mode)]
    files = {name: status for name, status in statuses.items() if stat.S_ISREG(status.st_mode)}
    left_out += [f"{name} is no file" for name in statuses if name not in files and name not in links]
    entries: list[Entry] = [link for name in links if (link := _read_link(root, name, left_out))]
    with ThreadPoolExecutor(READERS) as readers:
        unknown = [name for name in files if (found := cache.find(name, files[name])) is None]
        hashes = {name: found for name in files if (found := cache.find(name, files[name]))}
        read = readers.map(lambda name: _hash(root, name), unknown)
        for name, (content_hash, status, read_at_ns) in zip(unknown, read, strict=True):
            hashes[name], files[name] = content_hash, status
            cache.add(name, status, content_hash, read_at_ns=read_at_ns)
    entries += [_file(name, status, hashes[name]) for name, status in files.items()]
    manifest = make_manifest(entries)
    if issues := check_manifest(manifest):
        lines = [f"{issue.path}: {issue.message}" for issue in issues]
        raise SnapshotError("\n".join([f"{root} cannot become a snapshot; rename or ignore these:", *lines]))
    return Capture(root, subfolder, manifest, source, left_out, cache)


def _statuses(root: Path, names: Sequence[str]) -> dict[str, os.stat_result]:
    """Return the status of each file that exists: git also lists deleted ones."""
    found = {}
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise SnapshotError(f"{name!r} is not UTF-8: rename the file, or let git ignore it") from error
        if len(name) > MAX_PATH_CHARS:
            raise SnapshotError(f"{name[:80]}... has more than {MAX_PATH_CHARS} characters")
        try:
            found[name] = os.lstat(f"{root}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            continue
    return {name: status for name, status in found.items() if not stat.S_ISDIR(status.st_mode)}


def _refuse_large(root: Path, statuses: dict[str, os.stat_result], max_mb: float) -> None:
    total = sum(status.st_size for status in statuses.values())
    if total <= max_mb * 1e6:
        return
    largest = sorted(statuses, key=lambda name: -statuses[name].st_size)[:LARGEST]
    lines = [f"  {statuses[name].st_size / 1e6:10.1f} MB  {name}" for name in largest]
    advice = "let .gitignore name what the program does not need, or allow more with --snapshot-mb"
    message = f"{root} has {total / 1e6:,.1f} MB, more than the limit of {max_mb:g} MB: {advice}. The largest files:"
    raise SnapshotError("\n".join([message, *lines]))


def _read_link(root: Path, name: str, left_out: list[str]) -> SnapshotLink | None:
    target = os.readlink(f"{root}/{name}")
    if not 0 < len(target) <= MAX_PATH_CHARS:
        left_out.append(f"{name} is a link with a long target")
        return None
    link = SnapshotLink(path=name, target=target)
    if reason := reason_against_target(link):
        left_out.append(f"{name}: {reason}")
        return None
    return link


def _hash(root: Path, name: str) -> tuple[str, os.stat_result, int]:
    """Return the hash of a file, its status before it was read, and when the reading began."""
    read_at_ns = now_ns()
    try:
        with open(f"{root}/{name}", "rb", buffering=0) as file:
            status, digest = os.fstat(file.fileno()), sha256()
            size = 0
            while part := file.read(CHUNK):
                digest.update(part)
                size += len(part)
    except OSError as error:
        raise SnapshotError(f"{root}/{name} cannot be read: {error.strerror}") from error
    if size != status.st_size:
        raise SnapshotError(f"{root}/{name} changed while it was read: try again when nothing writes into it")
    return digest.hexdigest(), status, read_at_ns


def _file(name: str, status: os.stat_result, content_hash: str) -> SnapshotFile:
    is_executable = bool(status.st_mode & stat.S_IXUSR)
    return SnapshotFile.model_construct(path=name, sha256=content_hash, size=status.st_size, executable=is_executable)
