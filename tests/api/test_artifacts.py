"""The artifacts of a run over HTTP: their list, downloads of files, parts and folders, and why a run took no result."""

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import RecordedArtifact
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from contract.lifecycle.reason import TakenFrom
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from contract.reuse.key import reuse_key
from contract.spec.any_run import read_run
from store.artifacts import artifacts
from store.artifacts.artifacts import insert_artifacts, mark_removed
from store.session import transaction
from store.tables.artifacts import Artifact
from store.tables.runs import Run
from tests.testing.api import post
from tests.testing.snapshots import post_tree
from tests.testing.stored_runs import TO_RUNNING, move

PROGRAM = """
name: a program
base:
  {{kind: program, command: "python train.py --lr {{lr}}", launcher: plain, code: {code}, parameters: {{lr: {lr}}},
    outputs: {{model: out/model.pt, samples: samples}}, reuse: {reuse}}}
"""
CHECKPOINT = "step-0000000004-attempt-1"
MODEL = bytes(range(256)) * 40


class Runs:
    """Runs of a program in the database, and their folders."""

    def __init__(self, client: TestClient, engine: Engine, runs_folder: Path) -> None:
        self.client, self.engine, self.root = client, engine, runs_folder

    def add(self, code: str, *, lr: float = 0.1, reuse: bool = False) -> int:
        answer = post(self.client, PROGRAM.format(code=code, lr=lr, reuse=str(reuse).lower()), force=True)
        assert answer.status_code == 201, answer.text
        (run_id,) = answer.json()["runs"]
        return int(run_id)

    def folder(self, run_id: int) -> Path:
        with transaction(self.engine) as db:
            path = RunFolder.of(self.root, run_id, db.get_one(Run, run_id).key).path
        path.mkdir(parents=True, exist_ok=True)
        return path

    def finish(self, run_id: int) -> Path:
        """Let a run be done with a file, a folder and a checkpoint; return its folder."""
        folder = self.folder(run_id)
        for path, content in {
            "out/model.pt": MODEL,
            "samples/a": b"1",
            "samples/inner/b": b"22",
            f"checkpoints/{CHECKPOINT}/manifest.json": b"{}",
        }.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        os.symlink("a", folder / "samples" / "link")
        os.symlink("/etc/passwd", folder / "samples" / "far")
        named = {"model": "out/model.pt", "samples": "samples", CHECKPOINT: f"checkpoints/{CHECKPOINT}"}
        found = [
            RecordedArtifact(name=name, path=path, **hash_content(folder, path)._asdict())
            for name, path in named.items()
        ]
        found[-1] = found[-1].model_copy(update={"kind": ArtifactKind.CHECKPOINT})
        with transaction(self.engine) as db:
            run = db.get_one(Run, run_id)
            for state in (*TO_RUNNING, State.DONE):
                move(db, run, state)
            insert_artifacts(db, run_id, 1, found)
        return folder

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/api/v1/runs/{path}", headers=headers)


@pytest.fixture
def runs(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> Runs:
    return Runs(client, sqlite_engine, tmp_path / "runs")


@pytest.fixture
def code(client: TestClient) -> str:
    return post_tree(client, {"train.py": b"".join(b"line %d\n" % number for number in range(1, 61))})


@pytest.fixture
def run_id(runs: Runs, code: str) -> int:
    run_id = runs.add(code)
    runs.finish(run_id)
    return run_id


def test_the_list_has_sizes_and_hashes_and_removed_artifacts(runs: Runs, run_id: int) -> None:
    with transaction(runs.engine) as db:
        mark_removed(db, RemovalCause.RETENTION, Artifact.run_id == run_id, Artifact.name == "samples")
    answer = runs.get(f"{run_id}/artifacts").json()
    assert answer["taken_from"] is None
    items = {one["name"]: one for one in answer["items"]}
    assert list(items) == ["model", "samples", CHECKPOINT]
    model = items["model"]
    assert (model["kind"], model["size_bytes"], model["path"]) == ("file", len(MODEL), "out/model.pt")
    assert (model["run"], model["attempt"], model["removed_at"]) == (run_id, 1, None)
    assert items["samples"]["removed_because"] == "retention"
    assert items["samples"]["removed_at"]
    assert items[CHECKPOINT]["kind"] == "checkpoint"


def test_a_file_is_sent_as_it_is_and_never_shown(runs: Runs, run_id: int) -> None:
    answer = runs.get(f"{run_id}/artifacts/model")
    assert (answer.status_code, answer.content) == (200, MODEL)
    headers = answer.headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"].startswith(f'attachment; filename="run-{run_id}-model.pt"')
    assert headers["content-length"] == str(len(MODEL))
    assert headers["accept-ranges"] == "bytes"
    assert len(headers["etag"]) == 66


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [("bytes=0-9", 0, 10), ("bytes=100-", 100, 10240), ("bytes=-5", 10235, 10240), ("bytes=10000-99999", 10000, 10240)],
)
def test_a_part_of_a_file_is_sent(runs: Runs, run_id: int, asked: str, first: int, end: int) -> None:
    answer = runs.get(f"{run_id}/artifacts/model", range=asked)
    assert (answer.status_code, answer.content) == (206, MODEL[first:end])
    assert answer.headers["content-range"] == f"bytes {first}-{end - 1}/{len(MODEL)}"
    assert "gzip" not in answer.headers.get("content-encoding", "")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=-", "lines=1-2", "bytes=0-1,4-5", "bytes=" + "9" * 30 + "-"])
def test_what_is_no_single_range_gets_the_whole_file(runs: Runs, run_id: int, asked: str) -> None:
    answer = runs.get(f"{run_id}/artifacts/model", range=asked)
    assert (answer.status_code, len(answer.content)) == (200, len(MODEL))


def test_a_range_behind_the_end_is_refused_with_the_size(runs: Runs, run_id: int) -> None:
    answer = runs.get(f"{run_id}/artifacts/model", range="bytes=10240-")
    assert (answer.status_code, answer.json()["code"]) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(MODEL)}"


def test_a_range_of_another_version_gets_the_whole_file(runs: Runs, run_id: int) -> None:
    etag = runs.get(f"{run_id}/artifacts/model").headers["etag"]
    part = {"range": "bytes=0-9", "if-range": etag}
    assert runs.get(f"{run_id}/artifacts/model", **part).status_code == 206
    assert runs.get(f"{run_id}/artifacts/model", **{**part, "if-range": '"other"'}).status_code == 200
    (runs.folder(run_id) / "out" / "model.pt").write_bytes(MODEL + b"1")
    changed = runs.get(f"{run_id}/artifacts/model", **part)
    assert (changed.status_code, "etag" in changed.headers) == (200, False)


def test_a_folder_is_a_tar_archive_without_links_that_lead_elsewhere(runs: Runs, run_id: int) -> None:
    answer = runs.get(f"{run_id}/artifacts/samples")
    assert answer.headers["content-type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        members = {member.name: member for member in archive.getmembers()}
        assert list(members) == ["samples/a", "samples/inner/b", "samples/link"]
        taken = archive.extractfile("samples/inner/b")
        assert taken is not None
        assert taken.read() == b"22"
        assert members["samples/link"].linkname == "a"
    checkpoint = runs.get(f"{run_id}/artifacts/{CHECKPOINT}")
    with tarfile.open(fileobj=io.BytesIO(checkpoint.content)) as archive:
        assert archive.getnames() == [f"{CHECKPOINT}/manifest.json"]


def test_head_has_the_headers_alone(runs: Runs, run_id: int) -> None:
    answer = runs.client.head(f"/api/v1/runs/{run_id}/artifacts/model")
    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, str(len(MODEL)), b"")


def test_a_link_in_the_place_of_an_artifact_is_not_followed(runs: Runs, run_id: int, tmp_path: Path) -> None:
    """Forces the fault: after the run's end the file, or a folder on its way, becomes a link to a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "model.pt").write_text("secret")
    folder = runs.folder(run_id)
    (folder / "out" / "model.pt").unlink()
    os.symlink(tmp_path / "secret" / "model.pt", folder / "out" / "model.pt")
    assert runs.get(f"{run_id}/artifacts/model").status_code == 409
    (folder / "out" / "model.pt").unlink()
    (folder / "out").rmdir()
    os.symlink(tmp_path / "secret", folder / "out")
    assert runs.get(f"{run_id}/artifacts/model").status_code == 409


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("name", ["nothing", "../events", "%2e%2e", "a.b", "x" * 101])
def test_a_name_that_is_no_artifact_is_not_found_or_refused(runs: Runs, run_id: int, name: str) -> None:
    assert runs.get(f"{run_id}/artifacts/{name}").status_code in (404, 422)


def test_a_removed_or_deleted_artifact_says_what_happened(runs: Runs, run_id: int) -> None:
    (runs.folder(run_id) / "out" / "model.pt").unlink()
    deleted = runs.get(f"{run_id}/artifacts/model")
    assert (deleted.status_code, "not there" in deleted.json()["detail"]) == (404, True)
    with transaction(runs.engine) as db:
        mark_removed(db, RemovalCause.RETENTION, Artifact.run_id == run_id)
    removed = runs.get(f"{run_id}/artifacts/model").json()
    assert "removed at 20" in removed["detail"]
    assert "`keep`" in removed["detail"]


def test_a_run_that_took_a_result_sends_the_files_of_the_other_run(runs: Runs, run_id: int, code: str) -> None:
    taker = runs.add(code, reuse=True)
    with transaction(runs.engine) as db:
        rows = [dict(row) for row in _rows(db, run_id)]
        db.execute(Artifact.__table__.insert(), [{**row, "run_id": taker, "attempt": 0} for row in rows])
        reason = TakenFrom(run=run_id)
        db.execute(update(Run).where(Run.id == taker).values(taken_from=run_id, state=State.DONE, reason=reason))
    found = runs.get(f"{taker}/artifacts").json()
    assert (found["taken_from"], {one["run"] for one in found["items"]}) == (run_id, {run_id})
    assert runs.get(f"{taker}/artifacts/model").content == MODEL
    assert runs.get(f"{taker}/reuse").json()["sentence"] == f"taken from run {run_id}"


def _rows(db: Any, run_id: int) -> list[Mapping[str, Any]]:
    columns = [column.name for column in Artifact.__table__.columns]
    return [{name: getattr(one, name) for name in columns} for one in artifacts.of_run(db, run_id)]


def checked(runs: Runs, run_id: int, **inputs: str) -> None:
    """Let the service have looked for a finished run, and found none."""
    with transaction(runs.engine) as db:
        run = db.get_one(Run, run_id)
        run.reuse, run.input_hashes = Reuse.CHECKED, inputs or None
        run.reuse_key = reuse_key(read_run(run.spec), inputs)


def why(runs: Runs, run_id: int) -> dict[str, Any]:
    answer = runs.get(f"{run_id}/reuse")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_miss_names_the_file_and_the_line(runs: Runs, run_id: int, client: TestClient) -> None:
    lines = [b"line %d\n" % number for number in range(1, 61)]
    lines[39] = b"line 40, changed\n"
    other = runs.add(post_tree(client, {"train.py": b"".join(lines)}), reuse=True)
    checked(runs, other)
    found = why(runs, other)
    assert (found["asked"], found["taken_from"], found["nearest"]) == (True, None, run_id)
    assert found["sentence"] == f"carried out: train.py line 40 differs (against run {run_id})"
    assert [file["path"] for file in found["code"]["files"]] == ["train.py"]
    assert found["spec"] == []


@pytest.mark.ring("all")
def test_a_miss_names_the_field(runs: Runs, run_id: int, code: str) -> None:
    other = runs.add(code, lr=0.5, reuse=True)
    checked(runs, other)
    found = why(runs, other)
    assert found["sentence"] == f"carried out: parameters.lr is 0.5 and was 0.1 (against run {run_id})"
    assert found["spec"] == [{"path": "parameters.lr", "first": 0.5, "second": 0.1}]


@pytest.mark.ring("all")
def test_the_nearest_run_is_the_one_with_the_fewest_differences(runs: Runs, run_id: int, code: str) -> None:
    far = runs.add(code, lr=0.7)
    runs.finish(far)
    other = runs.add(code, reuse=True)
    checked(runs, other)
    found = why(runs, other)
    assert found["nearest"] == run_id
    assert "computes the same" in found["sentence"]


@pytest.mark.ring("all")
def test_a_run_that_does_not_ask_and_one_that_waits_say_so(runs: Runs, run_id: int, code: str) -> None:
    assert "does not ask" in why(runs, run_id)["sentence"]
    waiting = runs.add(code, reuse=True)
    assert "has not looked" in why(runs, waiting)["sentence"]
    checked(runs, waiting)
    with transaction(runs.engine) as db:
        db.execute(update(Run).where(Run.id == waiting).values(reuse_key=None))
    assert "cannot read" in why(runs, waiting)["sentence"]
