"""The store of contents and the format of uploads: nothing has a name that is not the hash of its bytes."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from contract.folder.files.untrusted_file import UnreadableFileError
from contract.snapshot.blob_store import AbsentError, BlobStore, DamagedError, blob_name
from contract.snapshot.pack import SMALL_BYTES, PackError, PackReader, pack_header
from tests.testing.snapshots import store_tree

pytestmark = pytest.mark.ring("quick")

LARGE = b"large" * SMALL_BYTES
CONTENTS = [b"", b"x", b"print(1)\n" * 1000, LARGE]


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    store = BlobStore(tmp_path / "store")
    store.prepare()
    return store


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def pack(*contents: bytes) -> bytes:
    return b"".join(pack_header(hash_of(content), len(content)) + content for content in contents)


def receive(store: BlobStore, data: bytes, part: int) -> PackReader:
    reader = PackReader(store)
    try:
        for start in range(0, len(data), part):
            reader.feed(data[start : start + part])
        reader.close()
    finally:
        reader.abandon()
    return reader


def files_of(store: BlobStore) -> list[str]:
    return sorted(path.name for path in (store.root / "blobs").rglob("*") if path.is_file())


@pytest.mark.parametrize("part", [7, 1000, 1 << 20])
def test_a_pack_is_stored_whatever_the_parts_in_which_it_arrives(store: BlobStore, part: int) -> None:
    contents = CONTENTS if part > 7 else CONTENTS[:3]
    assert receive(store, pack(*contents), part).blobs == len(contents)
    assert [store.read_blob(hash_of(content), 1 << 30) for content in contents] == contents
    assert files_of(store) == sorted(map(hash_of, contents))


def test_the_same_content_twice_is_one_file(store: BlobStore) -> None:
    receive(store, pack(b"x", b"x"), 1000)
    receive(store, pack(b"x", LARGE, LARGE), 1 << 20)
    assert len(files_of(store)) == 2


@pytest.mark.parametrize("size", [20, 45, len(pack(b"x" * 100)) + 41, -1])
def test_a_torn_pack_leaves_whole_contents_alone(store: BlobStore, size: int) -> None:
    """The fault: the connection ends in a header, in a small content, in a large one, or before the last byte."""
    data = pack(b"x" * 100, LARGE)
    with pytest.raises(PackError, match="the upload ends"):
        receive(store, data[:size], 1 << 16)
    whole = [hash_of(b"x" * 100)] if size < 0 or size > 140 else []
    assert files_of(store) == whole


@pytest.mark.parametrize("content", [b"y" * 100, LARGE])
def test_a_content_with_another_hash_is_not_stored(store: BlobStore, content: bytes) -> None:
    bad = pack_header(hash_of(b"another"), len(content)) + content
    with pytest.raises(PackError, match="differs from its hash"):
        receive(store, pack(b"x") + bad, 1 << 20)
    assert files_of(store) == [hash_of(b"x")]


def test_a_length_beyond_the_limit_is_refused_before_its_bytes(store: BlobStore) -> None:
    with pytest.raises(PackError, match="bytes"):
        PackReader(store).feed(pack_header(hash_of(b"x"), 2**63))


def test_a_manifest_is_read_back_and_a_damaged_one_is_found(store: BlobStore) -> None:
    name, manifest = store_tree(store, {"a": b"x"})
    assert store.read_manifest(name) == manifest
    path = store.root / "manifests" / f"{name}.json"
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"b"'))
    with pytest.raises(DamagedError, match="damaged"):
        store.read_manifest(name)
    with pytest.raises(AbsentError):
        store.read_manifest("0" * 64)


def test_a_damaged_content_and_a_short_one_are_found(store: BlobStore) -> None:
    """The fault: a power failure leaves an empty file; a job overwrites a content."""
    blob = hash_of(b"12345")
    store.write_blob(blob, b"12345")
    path = store.root / blob_name(blob)
    path.write_bytes(b"54321")
    with pytest.raises(DamagedError):
        store.read_blob(blob, 100)
    path.write_bytes(b"")
    assert not store.renew(blob, 5)


def test_a_link_in_the_place_of_a_content_is_not_followed(store: BlobStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    blob = hash_of(b"secret")
    (store.root / blob_name(blob)).symlink_to(secret)
    assert not store.renew(blob, 6)
    with pytest.raises(DamagedError):
        store.open_blob(blob)
    store.write_blob(blob, b"secret")  # an upload replaces the link
    assert not os.path.islink(store.root / blob_name(blob))
    (store.root / "manifests" / f"{'0' * 64}.json").symlink_to(secret)
    with pytest.raises(DamagedError):
        store.read_manifest("0" * 64)


def test_a_content_that_is_larger_than_allowed_is_not_read(store: BlobStore) -> None:
    store.write_blob(hash_of(LARGE), LARGE)
    with pytest.raises(UnreadableFileError):
        store.read_blob(hash_of(LARGE), 100)


def test_the_store_is_closed_to_other_users(store: BlobStore) -> None:
    assert store.root.stat().st_mode & 0o077 == 0
