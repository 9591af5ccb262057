"""Code snapshots over HTTP: uploads that are not trusted, reading, and experiments that name a snapshot."""

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from contract.api.snapshots import MAX_REQUEST_BYTES
from contract.snapshot.blob_store import BlobStore, blob_name
from contract.snapshot.manifest import MAX_FILES
from contract.snapshot.pack import pack_header
from tests.testing.api import post
from tests.testing.snapshots import file_document as entry
from tests.testing.snapshots import post_tree as stored
from tests.testing.snapshots import tree_document as tree

FILES = {"train.py": b"lr = 0.1\nprint(lr)\n", "lib/net.py": b"net = 1\n", "data.bin": b"\x00\xff"}
PROGRAM = """
name: a program
base:
  kind: program
  command: python train.py
  launcher: plain
  code: "{code}"
"""


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "runs" / ".snapshots")


def send(client: TestClient, request: dict[str, Any]) -> Any:
    body = gzip.compress(json.dumps(request).encode())
    return client.post("/api/v1/snapshots", content=body, headers={"content-type": "application/gzip"})


def upload(client: TestClient, *contents: bytes) -> Any:
    pack = b"".join(pack_header(sha256(content).hexdigest(), len(content)) + content for content in contents)
    return send_pack(client, pack)


def send_pack(client: TestClient, pack: bytes) -> Any:
    return client.post("/api/v1/snapshots/blobs", content=pack, headers={"content-type": "application/octet-stream"})


def test_a_snapshot_is_stored_once_its_contents_are_there(client: TestClient) -> None:
    first = send(client, tree(FILES)).json()
    assert (first["is_stored"], len(first["missing"])) == (False, 3)
    assert client.get(f"/api/v1/snapshots/{first['hash']}").status_code == 404
    assert upload(client, *FILES.values()).json() == {"blobs": 3}
    assert send(client, tree(FILES)).json() == {"hash": first["hash"], "is_stored": True, "missing": []}
    assert send(client, {"base": first["hash"]}).json()["is_stored"]


def test_a_small_request_may_be_plain_json(client: TestClient) -> None:
    upload(client, b"x")
    assert client.post("/api/v1/snapshots", json=tree({"a": b"x"})).json()["is_stored"]


def test_changes_to_a_stored_snapshot_give_the_same_hash_as_the_whole_tree(client: TestClient) -> None:
    base = stored(client, FILES)
    upload(client, b"new")
    changed = {path: content for path, content in FILES.items() if path != "data.bin"} | {"train.py": b"new"}
    change = {"base": base, "files": [entry("train.py", b"new")], "removed": ["data.bin"]}
    assert send(client, change).json()["hash"] == stored(client, changed)
    assert send(client, {**change, "base": "0" * 64}).status_code == 404


@pytest.mark.ring("all")
def test_a_snapshot_shows_where_it_came_from(client: TestClient) -> None:
    source = {"commit": "a" * 40, "branch": "main", "staged": 1, "unstaged": 0, "untracked": 2, "unpushed": 3}
    name = stored(client, FILES, source=source)
    stored(client, FILES, source={**source, "branch": "other"})  # the source of the first time stays
    found = client.get(f"/api/v1/snapshots/{name}").json()
    assert (found["source"], found["is_dirty"], found["files"]) == (source, True, 3)
    assert found["size"] == sum(map(len, FILES.values()))
    assert client.get(f"/api/v1/snapshots/{stored(client, {'a': b'a'})}").json()["source"] is None


def test_files_are_listed_in_pages_and_read(client: TestClient) -> None:
    name = stored(client, FILES, links=[{"path": "link", "target": "train.py"}])
    first = client.get(f"/api/v1/snapshots/{name}/files?limit=2").json()
    assert ([file["path"] for file in first["files"]], first["more"]) == (["data.bin", "lib/net.py"], True)
    rest = client.get(f"/api/v1/snapshots/{name}/files?after=lib/net.py").json()
    assert ([file["path"] for file in rest["files"]], rest["links"], rest["more"]) == (
        ["train.py"],
        [{"path": "link", "target": "train.py"}],
        False,
    )
    read = client.get(f"/api/v1/snapshots/{name}/file", params={"path": "train.py"}).json()
    assert (read["text"], read["is_shortened"]) == (FILES["train.py"].decode(), False)
    assert client.get(f"/api/v1/snapshots/{name}/file", params={"path": "data.bin"}).json()["text"] is None
    assert client.get(f"/api/v1/snapshots/{name}/file", params={"path": "../x"}).status_code == 404
    assert client.get(f"/api/v1/snapshots/{name}/file", params={"path": "link"}).status_code == 404


def test_differences_are_shown_as_unified_diffs(client: TestClient) -> None:
    old = {**FILES, "gone": b"gone\n", "bin": b"\x00", "same": b"same", "run.sh": b"x\n"}
    new = {
        **FILES,
        "train.py": b"lr = 0.2\nprint(lr)\n",
        "bin": b"\x01",
        "same": b"same",
        "new": b"new",
        "run.sh": b"x\n",
    }
    first = stored(client, old)
    upload(client, *new.values())
    document = tree(new)
    next(file for file in document["files"] if file["path"] == "run.sh")["executable"] = True
    second = send(client, document).json()["hash"]
    found = client.get(f"/api/v1/snapshots/{first}/differences", params={"against": second}).json()
    changes = {file["path"]: (file["change"], file["note"]) for file in found["files"]}
    assert changes == {
        "bin": ("changed", "no text"),
        "gone": ("removed", None),
        "new": ("added", None),
        "run.sh": ("changed", None),
        "train.py": ("changed", None),
    }
    texts = {file["path"]: file["diff"] for file in found["files"]}
    assert texts["train.py"] == "--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n-lr = 0.1\n+lr = 0.2\n print(lr)\n"
    assert texts["new"] == "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
    assert texts["run.sh"] == "old mode 100644\nnew mode 100755\n"
    assert found["total"] == 5
    assert client.get(f"/api/v1/snapshots/{first}/differences", params={"against": first}).json()["files"] == []


def test_a_large_difference_is_bounded(client: TestClient) -> None:
    """The fault: trees that are made so that their comparison takes long."""
    lines = b"".join(b"%d\n" % (number % 7) for number in range(2_900))
    first = stored(client, {f"f{number}": lines + b"%d" % number for number in range(30)} | {"large": b"x\n" * 100_001})
    second = stored(client, {f"f{number}": b"y\n" + lines[::-1] for number in range(30)} | {"large": b"y\n" * 100_001})
    found = client.get(f"/api/v1/snapshots/{first}/differences", params={"against": second}).json()
    assert found["total"] == 31
    assert found["files"][-1]["note"] == "200,002 bytes, more than 200,000"
    assert all(len(file["diff"] or "") < 100_000 for file in found["files"])


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("document", "path"),
    [
        (tree({"../../etc/passwd": b""}), "../../etc/passwd"),
        (tree({"/etc/passwd": b""}), "/etc/passwd"),
        (tree({"a": b"", "A": b""}), "a"),
        (tree({"a": b"", "a/b": b""}), "a"),
        ({"links": [{"path": "l", "target": "/etc/passwd"}]}, "l"),
        ({"links": [{"path": "l", "target": "a/../../x"}]}, "l"),
        ({"files": [{**entry("a", b""), "sha256": "x" * 64}]}, "files.0.sha256"),
        ({"files": [{**entry("a", b""), "size": -1}]}, "files.0.size"),
        ({"unknown": 1}, "unknown"),
        ({"source": {"branch": "a\x00b"}}, "source.branch"),
    ],
)
def test_a_hostile_tree_is_refused_with_its_path(client: TestClient, document: dict[str, Any], path: str) -> None:
    answer = send(client, document)
    assert answer.status_code == 422
    assert path in [error["path"] for error in answer.json()["errors"]]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no gzip", 400),
        (gzip.compress(b"{}")[:-3], 400),
        (gzip.compress(b"no JSON"), 422),
        (gzip.compress(b" " * (MAX_REQUEST_BYTES + 1)), 413),
        (b"", 400),
    ],
    ids=["no gzip", "torn", "no JSON", "too large", "empty"],
)
def test_a_damaged_request_is_refused(client: TestClient, body: bytes, status: int) -> None:
    answer = client.post("/api/v1/snapshots", content=body, headers={"content-type": "application/gzip"})
    assert answer.status_code == status


@pytest.mark.ring("all")
def test_a_tree_with_too_many_files_is_refused(client: TestClient) -> None:
    files = [{"path": str(number), "sha256": "0" * 64, "size": 0} for number in range(MAX_FILES + 1)]
    assert send(client, {"files": files}).status_code == 422


@pytest.mark.parametrize(
    "pack",
    [b"torn", pack_header("0" * 64, 5) + b"1234", pack_header("0" * 64, 4) + b"1234"],
    ids=["torn header", "torn content", "wrong hash"],
)
def test_a_torn_or_wrong_upload_is_refused_and_leaves_nothing(
    client: TestClient, store: BlobStore, pack: bytes
) -> None:
    assert send_pack(client, pack).status_code == 400
    assert [path for path in (store.root / "blobs").rglob("*") if path.is_file()] == []


def test_contents_are_taken_as_a_stream_only(client: TestClient) -> None:
    kind = {"content-type": "application/json"}
    assert client.post("/api/v1/snapshots/blobs", content=b"{}", headers=kind).status_code == 415
    assert client.post("/api/v1/snapshots/blobs").status_code == 415


def test_a_full_disk_is_reported(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: the disk of the snapshots is full."""

    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BlobStore, "write_blob", full)
    answer = upload(client, b"x")
    assert (answer.status_code, answer.json()["detail"]) == (
        503,
        "the snapshot cannot be stored: No space left on device",
    )


def test_a_lost_content_is_asked_for_again(client: TestClient, store: BlobStore) -> None:
    """The fault: a content of a stored snapshot is lost."""
    stored(client, FILES)
    (store.root / blob_name(sha256(FILES["train.py"]).hexdigest())).unlink()
    answer = send(client, tree(FILES)).json()
    assert answer["missing"] == [sha256(FILES["train.py"]).hexdigest()]


def test_an_experiment_with_code_that_the_service_lacks_is_refused(client: TestClient) -> None:
    answer = post(client, PROGRAM.format(code="5e88" * 16))
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == ["base.code"]
    assert "no snapshot 5e88" in answer.json()["errors"][0]["message"]
    axes = PROGRAM.format(code=stored(client, FILES)) + f"axes: {{code: ['{'5e88' * 16}']}}"
    assert [error["path"] for error in post(client, axes).json()["errors"]] == ["axes.code"]


def test_an_experiment_with_code_is_accepted_and_its_runs_name_it(both: TestClient) -> None:
    name = stored(both, FILES)
    answer = post(both, PROGRAM.format(code=name))
    assert answer.status_code == 201, answer.text
    (run_id,) = answer.json()["runs"]
    assert both.get(f"/api/v1/runs/{run_id}").json()["spec"]["code"] == name


def test_a_subfolder_that_the_snapshot_lacks_is_refused(client: TestClient) -> None:
    name = stored(client, FILES)
    answer = post(client, PROGRAM.format(code=name) + "  subfolder: absent\n")
    assert [error["path"] for error in answer.json()["errors"]] == ["base.subfolder"]
    assert post(client, PROGRAM.format(code=name) + "  subfolder: lib\n").status_code == 201


def test_a_program_that_the_snapshot_lacks_is_refused(client: TestClient) -> None:
    files = {**FILES, "run.sh": b"#!/bin/sh\n"}
    stored(client, files)
    document = tree(files)
    document["files"][-1]["executable"] = True
    name = send(client, document).json()["hash"]

    def paths(command: str, rest: str = "") -> list[str]:
        text = f"name: own\nbase:\n  kind: program\n  code: {name}\n  command: {command}\n{rest}"
        return [error["path"] for error in post(client, text).json().get("errors", [])]

    assert paths("./absent.sh --lr 1") == ["base.command"]
    assert paths("./train.py") == ["base.command"], "not executable"
    assert paths("./run.sh") == []
    assert paths("../run.sh", "  subfolder: lib\n") == []
    assert paths("./run.sh", "  subfolder: lib\n") == ["base.command"]
    assert paths("./absent.sh", "  environment: {setup: [make]}\n") == [], "the setup may make it"
