"""The removal of what no snapshot needs: it never removes what an upload or a submission relies on."""

import errno
import os
import time
from pathlib import Path

import pytest

from contract.snapshot import garbage
from contract.snapshot.blob_store import GRACE_S, BlobStore, blob_name
from contract.snapshot.code_tree import CODE, has_tree, make_tree, tree_of
from contract.snapshot.garbage import remove_garbage, remove_trees
from tests.testing.snapshots import store_tree

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store")


def nothing() -> None:
    pass


def make_old(*folders: Path) -> None:
    """Give every file and folder below an age beyond the time of grace."""
    at = time.time() - GRACE_S - 60
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, (at, at), follow_symlinks=False)


def test_only_old_contents_that_no_manifest_needs_are_removed(store: BlobStore) -> None:
    first, one = store_tree(store, {"a": b"a", "shared": b"shared"})
    second, other = store_tree(store, {"b": b"b", "shared": b"shared"})
    make_old(store.root)
    draft = store.root / "blobs" / "aa" / f".{'a' * 64}.{'0' * 16}"
    draft.write_text("torn")
    make_old(draft)
    young = store_tree(store, {"young": b"young"})[1]
    assert remove_garbage(store, {second}.__contains__, nothing) == 3
    assert store.read_manifest(second) == other
    assert all(store.renew(file.sha256, file.size) for file in (*other.files, *young.files))
    assert not store.renew(one.files[0].sha256, 1)
    assert not draft.exists()
    assert os.listdir(store.root / "trash") == []
    assert first != second


def test_a_store_that_does_not_exist_is_no_error(store: BlobStore, tmp_path: Path) -> None:
    assert remove_garbage(store, set[str]().__contains__, nothing) == 0
    assert remove_trees(tmp_path / "runs", set(), nothing) == 0


def test_a_content_that_an_upload_relies_on_stays(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race: an upload learns that a content is stored after the collection read that the content is old."""
    _, manifest = store_tree(store, {"a": b"a"})
    (blob,) = [file.sha256 for file in manifest.files]
    make_old(store.root)
    found: list[bool] = []
    rename = os.rename

    def renew_then_rename(source: str, target: str, **folders: int) -> None:
        if source == blob:
            found.append(store.renew(blob, 1))
        rename(source, target, **folders)

    monkeypatch.setattr(garbage.os, "rename", renew_then_rename)
    remove_garbage(store, set[str]().__contains__, nothing)
    assert found == [True]
    assert store.read_blob(blob, 10) == b"a"


def test_an_upload_that_comes_after_the_removal_sends_the_content_again(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race: an upload asks for a content between its removal from its place and its end."""
    _, manifest = store_tree(store, {"a": b"a"})
    (blob,) = [file.sha256 for file in manifest.files]
    make_old(store.root)
    found: list[bool] = []
    rename = os.rename

    def rename_then_renew(source: str, target: str, **folders: int) -> None:
        rename(source, target, **folders)
        if source == blob:
            found.append(store.renew(blob, 1))
            store.write_blob(blob, b"a")

    monkeypatch.setattr(garbage.os, "rename", rename_then_renew)
    remove_garbage(store, set[str]().__contains__, nothing)
    assert found == [False]
    assert store.read_blob(blob, 10) == b"a"


def test_what_a_killed_collection_moved_away_is_removed_later(store: BlobStore) -> None:
    _, manifest = store_tree(store, {"a": b"a"})
    blob = manifest.files[0].sha256
    os.rename(store.root / blob_name(blob), store.root / "trash" / f"{blob}.0")
    make_old(store.root)
    remove_garbage(store, set[str]().__contains__, nothing)
    assert os.listdir(store.root / "trash") == []


def test_a_file_that_cannot_be_removed_holds_up_no_other(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: two files, and one tree, of others; before, each collection ended at the first of them."""
    trees = [store_tree(store, {"a": text})[0] for text in (b"1", b"2", b"3", b"4")]
    for name in trees:
        list(make_tree(store, tmp_path, name))
    make_old(store.root)
    make_old(tmp_path / CODE)
    rename, refused = os.rename, [f"{trees[0]}.json", f"{trees[1]}.json", trees[2]]

    def rename_own(source: str | Path, *arguments: object, **folders: int) -> None:
        if Path(source).name in refused:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        rename(source, *arguments, **folders)  # type: ignore[arg-type]

    monkeypatch.setattr(garbage.os, "rename", rename_own)
    with pytest.raises(OSError, match=r"2 of them cannot be, such as: .*not permitted"):
        remove_garbage(store, set[str]().__contains__, nothing)
    assert sorted(os.listdir(store.root / "manifests")) == sorted(refused[:2])
    with pytest.raises(OSError, match=r"1 of them cannot be"):
        remove_trees(tmp_path, set(), nothing)
    assert os.listdir(tmp_path / CODE) == [trees[2]]


def test_old_trees_that_no_open_run_needs_are_removed(store: BlobStore, tmp_path: Path) -> None:
    names = [store_tree(store, {"a": text})[0] for text in (b"1", b"2", b"3")]
    for name in names:
        list(make_tree(store, tmp_path, name))
    (tmp_path / CODE / f".{names[0]}.{'0' * 16}").mkdir()
    make_old(tmp_path / CODE)
    list(make_tree(store, tmp_path, names[2]))  # a submission uses it now
    assert remove_trees(tmp_path, {names[1]}, nothing) == 2
    assert [has_tree(tmp_path, name) for name in names] == [False, True, True]
    assert len(os.listdir(tmp_path / CODE)) == 2


def test_a_tree_that_a_submission_relies_on_stays(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race: a submission finds the tree after the collection read that the tree is old."""
    name, _ = store_tree(store, {"a": b"a"})
    list(make_tree(store, tmp_path, name))
    make_old(tmp_path / CODE)
    rename, calls = os.rename, list[int]()

    def use_then_rename(source: Path, target: Path) -> None:
        if not calls:
            list(make_tree(store, tmp_path, name))
        calls.append(1)
        rename(source, target)

    monkeypatch.setattr(garbage.os, "rename", use_then_rename)
    assert remove_trees(tmp_path, set(), nothing) == 0
    assert (tree_of(tmp_path, name) / "a").read_bytes() == b"a"
