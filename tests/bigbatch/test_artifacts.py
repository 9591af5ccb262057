"""`bigbatch artifacts`: the list of what a run left, and its download."""

from pathlib import Path

import pytest

from bigbatch.client import Client
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import RecordedArtifact
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import RemovalCause
from store.artifacts.artifacts import insert_artifacts, mark_removed
from store.session import transaction
from store.tables.artifacts import Artifact
from store.tables.runs import Run
from tests.testing.command import Call, Site

OUTPUTS = {"model": "out/weights.pt", "samples": "samples", "old": "old.txt"}


@pytest.fixture
def run_id(client: Client, site: Site, spec: Path) -> int:
    """Return a run with a file, a folder and an artifact that was removed."""
    run_id = client.create(spec.read_text()).runs[0]
    with transaction(site.engine) as db:
        folder = RunFolder.of(site.home / "runs", run_id, db.get_one(Run, run_id).key).path
        for path, text in {"out/weights.pt": "weights", "samples/inner/a": "1", "old.txt": "old"}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        found = [
            RecordedArtifact(name=name, path=path, **hash_content(folder, path)._asdict())
            for name, path in OUTPUTS.items()
        ]
        insert_artifacts(db, run_id, 1, found)
        mark_removed(db, RemovalCause.RETENTION, Artifact.run_id == run_id, Artifact.name == "old")
    return run_id


def test_the_list_has_sizes_and_what_was_removed(call: Call, run_id: int) -> None:
    said = call("artifacts", run_id)
    assert said.code == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert lines["model"].split()[1:4] == ["file", "7", "1"]
    assert "(retention)" in lines["old"]


def test_the_download_has_files_and_unpacked_folders(call: Call, run_id: int, tmp_path: Path) -> None:
    assert call("artifacts", run_id, "--download", "--to", tmp_path / "here").code == 0
    found = sorted(path for path in (tmp_path / "here").rglob("*") if path.is_file())
    assert [path.relative_to(tmp_path / "here").as_posix() for path in found] == ["model.pt", "samples/inner/a"]
    assert [path.read_text() for path in found] == ["weights", "1"]
    again = call("artifacts", run_id, "--download", "--name", "model", "--to", tmp_path / "here")
    assert (again.code, "exists" in again.err) == (1, True)


def test_a_file_that_changed_after_the_end_of_its_run_is_not_taken(
    call: Call, site: Site, run_id: int, tmp_path: Path
) -> None:
    """Forces the fault: the file has the size of before and other bytes."""
    (folder,) = (site.home / "runs").glob(f"{run_id:06}-*")
    (folder / "out" / "weights.pt").write_text("WEIGHTS")
    said = call("artifacts", run_id, "--download", "--name", "model", "--to", tmp_path)
    assert (said.code, "has changed since the end" in said.err) == (1, True)
    assert list(tmp_path.glob("*model*")) == []


def test_an_unknown_name_is_said(call: Call, run_id: int) -> None:
    said = call("artifacts", run_id, "--name", "nothing")
    assert (said.code, "has no artifact 'nothing'" in said.err) == (1, True)
