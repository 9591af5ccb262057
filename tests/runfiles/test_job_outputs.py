"""The record of outputs: tried again while the disk is full, and of the bytes that were read."""

import os
from pathlib import Path

import pytest

from contract.folder.events import Finished, event_reader
from contract.folder.outputs.record import read_outputs
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from runfiles import content, outputs, retries
from runfiles.content import ContentError, describe_content
from tests.testing.specs import small_experiment
from trainers.progress.reporter import Reporter

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Refuse the record so many times as the list has entries."""
    left: list[int] = []
    replace = outputs.replace_file

    def refuse(path: Path, text: str) -> None:
        if left:
            raise OSError(left.pop(), "No space left on device")
        replace(path, text)

    monkeypatch.setattr(outputs, "replace_file", refuse)
    monkeypatch.setattr(retries, "EVERY_S", 0.0)
    return left


def end_run(tmp_path: Path) -> Finished:
    """Let an engine run with one output end; return its last event."""
    ((_, run),) = small_experiment(outputs={"note": "note.txt"}).points
    assert isinstance(run, RunSpec)
    (tmp_path / "note.txt").write_text("done")
    folder = RunFolder(tmp_path)
    Reporter(folder, 1, rank=0).finished(run)
    event = event_reader.validate_json(folder.events.read_bytes().splitlines()[-1])
    assert isinstance(event, Finished)
    return event


def test_the_engine_records_its_outputs_once_a_full_disk_has_room(tmp_path: Path, refused: list[int]) -> None:
    """Forces the fault: a run that had taken all its steps failed, because the disk was full at its end."""
    refused += [28, 28]
    assert end_run(tmp_path).outputs
    assert [one.name for one in read_outputs(tmp_path).artifacts] == ["note"]


def test_a_run_that_took_all_its_steps_is_finished_without_a_record(
    tmp_path: Path, refused: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FOR_S", -1.0)
    refused += [28, 28]
    assert not end_run(tmp_path).outputs


@pytest.mark.parametrize("change", ["grown", "replaced"])
def test_a_file_that_changes_while_it_is_read_has_no_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Forces the fault: the record had the hash of a file in whose place another one was."""
    path = tmp_path / "model.pt"
    path.write_bytes(b"weights")

    class Changing:
        def update(self, _: bytes) -> None:
            if change == "replaced":
                (tmp_path / "new").write_bytes(b"others!")
                os.replace(tmp_path / "new", path)
            else:
                path.write_bytes(b"weights and more")

    monkeypatch.setattr(content, "sha256", Changing)
    with pytest.raises(ContentError, match="it changed while it was read"):
        describe_content(tmp_path, "model.pt")


def test_a_fifo_is_said_to_be_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ContentError, match="it is neither a file nor a folder"):
        describe_content(tmp_path, "fifo")
