"""Trees, git repositories and a client of the API in this process, for tests of snapshots."""

import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from contract.snapshot.blob_store import BlobStore
from contract.snapshot.manifest import Manifest, SnapshotFile, SnapshotLink, make_manifest
from contract.snapshot.pack import pack_header

EMPTY_TREE = make_manifest([]).hash()


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, with a name and without the user's own configuration."""
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write text files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a git repository whose first commit has these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def post_tree(client: TestClient, files: Mapping[str, bytes], **more: Any) -> str:
    """Store a snapshot over HTTP as a client does; return its hash."""
    packed = [pack_header(sha256(content).hexdigest(), len(content)) + content for content in files.values()]
    kind = {"content-type": "application/octet-stream"}
    assert client.post("/api/v1/snapshots/blobs", content=b"".join(packed), headers=kind).status_code == 200
    answer = client.post("/api/v1/snapshots", json=tree_document(files, **more))
    assert answer.json()["is_stored"], answer.text
    return str(answer.json()["hash"])


def tree_document(files: Mapping[str, bytes], **more: Any) -> dict[str, Any]:
    """Return the request that lists a whole tree."""
    return {"files": [file_document(path, content) for path, content in files.items()], **more}


def file_document(path: str, content: bytes) -> dict[str, Any]:
    """Return a file as a request lists it."""
    return {"path": path, "sha256": sha256(content).hexdigest(), "size": len(content)}


def store_tree(store: BlobStore, files: Mapping[str, bytes], *links: SnapshotLink) -> tuple[str, Manifest]:
    """Store a tree on disk, without a database; return the hash and the manifest."""
    store.prepare()
    entries: list[SnapshotFile | SnapshotLink] = [*links]
    for path, content in files.items():
        entries.append(store_content(store, path, content))
    manifest = make_manifest(entries)
    return store.write_manifest(manifest), manifest


def store_content(store: BlobStore, path: str, content: bytes) -> SnapshotFile:
    """Store a content; return the file of a manifest that has it."""
    blob = sha256(content).hexdigest()
    writer = store.begin_blob(blob)
    writer.write(content)
    assert writer.finish()
    return SnapshotFile(path=path, sha256=blob, size=len(content), executable=path.endswith(".sh"))
