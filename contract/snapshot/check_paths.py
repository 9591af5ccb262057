"""The check of a manifest, whose sender is not trusted: no path and no link may lead out of the tree."""

import unicodedata
from collections.abc import Iterator
from itertools import chain, islice

from contract.snapshot.manifest import MAX_FILES, MAX_TREE_BYTES, Manifest, SnapshotLink
from contract.validation import ValidationIssue

MAX_ISSUES = 20
MAX_DEPTH = 60  # parts of a path
MAX_PART_BYTES = 255  # of a name, on most file systems
FORBIDDEN_PARTS = frozenset({"", ".", ".."})


def check_manifest(manifest: Manifest) -> list[ValidationIssue]:
    """Return the reasons why the tree cannot be made, at most MAX_ISSUES."""
    issues = list(islice(_path_issues(manifest), MAX_ISSUES))
    return issues or list(islice(chain(_clashes(manifest), _contradictions(manifest)), MAX_ISSUES))


def reason_against(path: str) -> str | None:
    """Return why a path of a tree is not allowed; None if the path is allowed."""
    parts = path.split("/")
    if path.startswith("/"):
        return "the path is absolute"
    if len(parts) > MAX_DEPTH:
        return f"the path has {len(parts)} parts, more than the limit of {MAX_DEPTH}"
    if bad := [part for part in parts if part in FORBIDDEN_PARTS]:
        return f"the path has the part '{bad[0]}'"
    if any(part.casefold() == ".git" for part in parts):
        return "a part of the path is '.git'"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        return "the path has a control character or a byte that is not UTF-8"
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return f"a part of the path has more than {MAX_PART_BYTES} bytes"
    return None


def reason_against_target(link: SnapshotLink) -> str | None:
    """Return why a link is not allowed; None if its target is inside the tree, whatever other links there are.

    ".." is allowed only at the beginning: there it means a real folder, and behind a name it would mean the folder of
    that name's own target.
    """
    parts = [part for part in link.target.split("/") if part != "."]
    ups = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    if link.target.startswith("/"):
        return f"the link leads to '{link.target}', an absolute path"
    if ups > link.path.count("/"):
        return f"the link leads to '{link.target}', outside the tree"
    if not parts[ups:]:
        return None
    if reason := reason_against("/".join(parts[ups:])):
        return f"the link leads to '{link.target}': {reason}"
    return None


def _path_issues(manifest: Manifest) -> Iterator[ValidationIssue]:
    paths = _paths(manifest)
    if len(paths) > MAX_FILES:
        yield ValidationIssue(path="files", message=f"{len(paths):,} files are more than the limit of {MAX_FILES:,}")
    if manifest.size > MAX_TREE_BYTES:
        message = f"the files have {manifest.size:,} bytes, more than the limit of {MAX_TREE_BYTES:,}"
        yield ValidationIssue(path="files", message=message)
    for path in paths:
        if reason := reason_against(path):
            yield ValidationIssue(path=path[:200], message=reason)
    for link in manifest.links:
        if reason := reason_against_target(link):
            yield ValidationIssue(path=link.path[:200], message=reason)


def _clashes(manifest: Manifest) -> Iterator[ValidationIssue]:
    """Yield paths that are one name on a file system which ignores case or the form of Unicode; folders too."""
    paths = _paths(manifest)
    names: dict[str, str] = {}
    for path in [*sorted(_folders(paths)), *paths]:
        other = names.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if other != path:
            message = f"'{other[:200]}' is the same name on a file system that ignores case"
            yield ValidationIssue(path=path[:200], message=message)


def _contradictions(manifest: Manifest) -> Iterator[ValidationIssue]:
    """Yield paths that are listed twice, files or links that are also folders, and contents of two sizes."""
    paths = _paths(manifest)
    seen, folders = set[str](), _folders(paths)
    for path in paths:
        if path in seen:
            yield ValidationIssue(path=path[:200], message="the path is listed twice")
        if path in folders:
            yield ValidationIssue(path=path[:200], message="the path is a file or link, and also a folder")
        seen.add(path)
    lengths: dict[str, int] = {}
    for file in manifest.files:
        if lengths.setdefault(file.sha256, file.size) != file.size:
            message = f"the content {file.sha256} has two sizes, {lengths[file.sha256]:,} and {file.size:,} bytes"
            yield ValidationIssue(path=file.path[:200], message=message)


def _paths(manifest: Manifest) -> list[str]:
    return [entry.path for entry in manifest.entries]


def _folders(paths: list[str]) -> set[str]:
    """Return the folders of the paths, and the folders above these."""
    return {path.rsplit("/", depth)[0] for path in paths for depth in range(1, path.count("/") + 1)}
