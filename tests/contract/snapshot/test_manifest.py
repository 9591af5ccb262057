"""Manifests: one text for equal trees, and nothing that leads out of the tree."""

import pytest

from contract.snapshot.check_paths import MAX_ISSUES, check_manifest
from contract.snapshot.manifest import (
    MAX_FILES,
    Manifest,
    SnapshotFile,
    SnapshotLink,
    change_manifest,
    make_manifest,
    parse_manifest,
)

pytestmark = pytest.mark.ring("quick")

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def file(path: str, *, size: int = 0, blob: str = EMPTY) -> SnapshotFile:
    return SnapshotFile(path=path, sha256=blob, size=size)


def link(path: str, target: str) -> SnapshotLink:
    return SnapshotLink(path=path, target=target)


def messages(*entries: SnapshotFile | SnapshotLink) -> list[str]:
    return [f"{issue.path}: {issue.message}" for issue in check_manifest(make_manifest(entries))]


def test_equal_trees_have_one_hash_whatever_the_order_of_their_entries() -> None:
    one, other = file("a"), file("b/é 1")
    assert make_manifest([one, other, link("c", "a")]).hash() == make_manifest([link("c", "a"), other, one]).hash()
    assert make_manifest([one]).hash() != make_manifest([one.model_copy(update={"executable": True})]).hash()
    assert make_manifest([one]).hash() != make_manifest([file("a", size=1)]).hash()


def test_a_canonical_text_is_read_back() -> None:
    manifest = make_manifest([file("é"), file("b/c", size=3), link("b/l", "../é")])
    assert parse_manifest(manifest.canonical()) == manifest
    assert parse_manifest(manifest.canonical()).hash() == manifest.hash()


def test_changes_give_the_whole_tree() -> None:
    base = make_manifest([file("a"), file("b"), link("c", "a")])
    changed = change_manifest(base, [file("c"), file("d", size=2)], ["a", "absent"])
    assert changed == make_manifest([file("b"), file("c"), file("d", size=2)])


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../x", "a/../b", "a//b", "a/", ".", "a/./b", ".git/hooks/pre-commit", "a/.GIT/config"),
        *("a\nb", "a\x00b", "\x1b[31m", "x" * 256, "é" * 128, "/".join("a" * 61)),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    assert len(messages(file(path))) == 1
    assert len(messages(link(path, "a"))) >= 1


@pytest.mark.parametrize("path", ["a", "a/b.py", "..a", "a..", "é è/ü", "back\\slash", "-rf", "x" * 255])
def test_an_ordinary_path_is_accepted(path: str) -> None:
    assert messages(file(path)) == []


@pytest.mark.parametrize(
    ("path", "target"),
    [
        *(("l", "/etc/passwd"), ("l", ".."), ("l", "../x"), ("a/l", "../../x"), ("l", "a/../../x")),
        # behind a name, ".." would be the folder above that name's own target
        *(("l", "a/../b"), ("a/l", "../b/../../.."), ("l", "a/\x00"), ("l", ".git/config")),
    ],
)
def test_a_link_out_of_the_tree_is_refused(path: str, target: str) -> None:
    assert len(messages(link(path, target))) == 1


@pytest.mark.parametrize(
    ("path", "target"), [("l", "a"), ("a/l", "../b"), ("a/b/l", "../../c/d"), ("a/l", ".."), ("l", ".")]
)
def test_a_link_inside_the_tree_is_accepted(path: str, target: str) -> None:
    assert messages(link(path, target)) == []


@pytest.mark.parametrize(
    "entries",
    [
        (file("README"), file("readme")),
        (file("Code/a"), file("code/b")),
        (file("e\u0301"), file("\u00e9")),  # one letter, as two characters and as one
        (file("a"), file("a/b")),
        (link("a", "c"), file("a/b")),
        (file("a"), link("a", "b")),
        (file("a", size=1), file("b", size=2)),  # one hash
    ],
)
def test_entries_that_exclude_each_other_are_refused(entries: tuple[SnapshotFile | SnapshotLink, ...]) -> None:
    assert check_manifest(Manifest(*_split(entries)))


def _split(
    entries: tuple[SnapshotFile | SnapshotLink, ...],
) -> tuple[tuple[SnapshotFile, ...], tuple[SnapshotLink, ...]]:
    files = tuple(entry for entry in entries if isinstance(entry, SnapshotFile))
    return files, tuple(entry for entry in entries if isinstance(entry, SnapshotLink))


def test_a_path_that_is_listed_twice_is_refused() -> None:
    assert check_manifest(Manifest((file("a"), file("a"))))[0].message == "the path is listed twice"


def test_the_number_of_issues_and_of_files_is_bounded() -> None:
    assert len(check_manifest(Manifest(tuple(file(f"../{number}") for number in range(100))))) == MAX_ISSUES
    many = Manifest(tuple(file(str(number)) for number in range(MAX_FILES + 1)))
    assert "more than the limit" in check_manifest(many)[0].message
