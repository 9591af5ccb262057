"""The record of an engine run's outputs and checkpoints, which rank 0 writes before it reports the end."""

from pathlib import Path

import pytest

from contract.folder.events import Finished, event_reader
from contract.folder.outputs.content import hash_content, hash_file, size_of_content
from contract.folder.outputs.record import read_outputs
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import ArtifactKind
from contract.spec.run import RunSpec
from tests.testing.specs import small_experiment
from trainers.progress.reporter import Reporter

OLD, NEW, TORN = "step-0000000004-attempt-1", "step-0000000008-attempt-1", "step-0000000012-attempt-1"


def prepare(tmp_path: Path, **fields: object) -> tuple[RunFolder, RunSpec]:
    ((_, run),) = small_experiment(**fields).points
    assert isinstance(run, RunSpec)
    folder = RunFolder(tmp_path)
    folder.prepare(run)
    return folder, run


def finished(folder: RunFolder) -> Finished:
    event = event_reader.validate_json(folder.events.read_bytes().splitlines()[-1])
    assert isinstance(event, Finished)
    return event


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """Two complete checkpoints and one without a manifest."""
    for name in (OLD, NEW, TORN):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "shared.pt").write_bytes(b"w" * 100)
        if name != TORN:
            (tmp_path / "checkpoints" / name / "manifest.json").write_text(f"of {name}")
    return tmp_path / "checkpoints"


def test_the_record_has_the_outputs_and_the_complete_checkpoints(tmp_path: Path, checkpoints: Path) -> None:
    folder, run = prepare(tmp_path, outputs={"weights": "checkpoints", "note": "note.txt"})
    (tmp_path / "note.txt").write_text("done")
    Reporter(folder, 1, rank=0).finished(run)
    assert finished(folder).outputs
    record = read_outputs(tmp_path)
    found = {one.name: one for one in record.artifacts}
    assert (record.attempt, record.faults, list(found)) == (1, [], [NEW, OLD, "weights", "note"])
    assert found["weights"].sha256 == hash_content(tmp_path, "checkpoints").sha256
    assert (found[NEW].kind, found[NEW].path) == (ArtifactKind.CHECKPOINT, f"checkpoints/{NEW}")
    assert found[NEW].sha256 == hash_file(tmp_path, f"checkpoints/{NEW}/manifest.json")
    assert (found[NEW].size_bytes, found[NEW].files) == (size_of_content(tmp_path, f"checkpoints/{NEW}"), 2)


def test_a_run_without_outputs_and_checkpoints_writes_no_record(tmp_path: Path) -> None:
    folder, run = prepare(tmp_path)
    Reporter(folder, 1, rank=0).finished(run)
    assert not finished(folder).outputs
    assert not (tmp_path / "outputs.json").exists()


def test_a_missing_output_is_a_fault_of_the_record_and_no_error(tmp_path: Path) -> None:
    folder, run = prepare(tmp_path, outputs={"note": "note.txt"})
    Reporter(folder, 1, rank=0).finished(run)
    assert finished(folder).outputs
    assert [(one.name, one.problem) for one in read_outputs(tmp_path).faults] == [
        ("note", "there is no such file or folder")
    ]


def test_other_ranks_write_nothing(tmp_path: Path, checkpoints: Path) -> None:
    folder, run = prepare(tmp_path, outputs={"weights": "checkpoints"})
    Reporter(folder, 1, rank=1).finished(run)
    assert not folder.events.exists()
    assert not (tmp_path / "outputs.json").exists()
