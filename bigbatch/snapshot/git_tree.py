"""The files of a git working tree: tracked, staged, changed and untracked ones, without ignored ones."""

import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bigbatch.snapshot.errors import SnapshotError
from contract.snapshot.git_source import GitSource

NOT_A_REPOSITORY = "not a git repository"
GIT_S = 60.0  # for one command, on a slow file system


class WorkingTree(NamedTuple):
    """The root of a repository's working tree, and the path of the asked folder below it."""

    root: Path
    prefix: str  # "" for the root, else with a "/" at its end


def find_working_tree(folder: Path) -> WorkingTree | None:
    """Return the working tree that contains the folder; None without git. Raise SnapshotError."""
    if not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return None
    done = _start(folder, "rev-parse", "--show-toplevel", "--show-prefix")
    output, errors = _finish(done)
    if done.returncode:
        if NOT_A_REPOSITORY in errors:
            return None
        raise SnapshotError(f"git cannot read {folder}: {errors.strip() or 'no message'}")
    root, prefix, *_ = [*output.decode("utf-8", "surrogateescape").split("\n"), "", ""]
    return WorkingTree(Path(root), prefix)


def list_files(root: Path) -> list[str]:
    """Return the paths of all files of the working tree that git does not ignore, with those of repositories in it."""
    output, errors = _finish(command := _start(root, "ls-files", "-co", "--exclude-standard", "-z"))
    if command.returncode:
        raise SnapshotError(f"git cannot list the files of {root}: {errors.strip()}")
    names = {name for name in output.decode("utf-8", "surrogateescape").split("\0") if name}
    inner = [name for name in names if name.endswith("/") or _is_folder(f"{root}/{name}")]
    for name in inner:  # a submodule, or a repository that this one does not track
        names.remove(name)
        path = name.rstrip("/")
        if (root / path / ".git").exists():
            names.update(f"{path}/{below}" for below in list_files(root / path))
    return sorted(names)


def list_ignored(root: Path) -> list[str]:
    """Return the files that git ignores; a folder of which it ignores everything ends with "/"."""
    words = ("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
    output, _ = _finish(command := _start(root, *words))
    names = output.decode("utf-8", "surrogateescape").split("\0") if not command.returncode else []
    return [name for name in names if name and name.isprintable()]


def read_source(root: Path) -> GitSource:
    """Return the commit, the branch, and the numbers of changes."""
    output, errors = _finish(command := _start(root, "status", "--porcelain=v2", "--branch", "-z"))
    if command.returncode:
        raise SnapshotError(f"git cannot read the state of {root}: {errors.strip()}")
    return parse_status(output.decode("utf-8", "replace").split("\0"))


def parse_status(lines: Sequence[str]) -> GitSource:
    """Return the source that `git status --porcelain=v2 --branch -z` describes."""
    found: dict[str, str] = {}
    staged = unstaged = untracked = 0
    for line in _entries(lines):
        kind, _, rest = line.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            found[key] = value
        elif kind == "?":
            untracked += 1
        elif kind in ("1", "2", "u"):
            staged += rest[:1] not in (".", "")
            unstaged += rest[1:2] not in (".", "")
    commit, branch = found.get("branch.oid", ""), found.get("branch.head", "")
    ahead = found.get("branch.ab", "").partition(" ")[0].removeprefix("+")
    return GitSource(
        commit=commit if commit and not commit.startswith("(") else None,
        branch=branch[:250] if branch and branch.isprintable() and branch != "(detached)" else None,
        staged=staged,
        unstaged=unstaged,
        untracked=untracked,
        unpushed=int(ahead) if ahead.isdigit() else None,
    )


def _entries(lines: Sequence[str]) -> Iterator[str]:
    """Yield the entries; a renamed file has its old name as an entry of its own."""
    skips = False
    for line in lines:
        if not skips:
            yield line
        skips = not skips and line.startswith("2 ")


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False  # a deleted file


def _start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    # git would otherwise wait for the lock of the index, or write into it
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):  # set within a hook, of its repository
        environment.pop(name, None)
    try:
        return subprocess.Popen(
            ["git", "-C", str(folder), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except FileNotFoundError as error:
        raise SnapshotError("there is no git on PATH, and the folder is in a git repository: install git") from error


def _finish(command: "subprocess.Popen[bytes]") -> tuple[bytes, str]:
    try:
        output, errors = command.communicate(timeout=GIT_S)
    except subprocess.TimeoutExpired as error:
        command.kill()
        raise SnapshotError(f"git gave no answer for {GIT_S:g} s") from error
    return output, errors.decode("utf-8", "replace")
