"""The outputs of a program: recorded by the agent before it reports the end, also on several hosts."""

from pathlib import Path

from contract.folder.events import Finished
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import read_outputs
from contract.lifecycle.artifact import ArtifactKind
from tests.testing.programs import events_of, program_folder, run_agent

OUTPUTS = {"model": "out/model.pt", "samples": "samples"}


def test_the_agent_records_the_outputs_that_a_program_wrote(tmp_path: Path) -> None:
    line = (
        "mkdir samples out; echo 1 > samples/a; echo 2 > samples/b; echo weights > {outputs.model}; cat {inputs.data}"
    )
    (tmp_path / "data").write_text("text of the input\n")
    folder = program_folder(tmp_path, line, outputs=OUTPUTS, inputs={"data": str(tmp_path / "data")})
    assert run_agent(folder) == 0
    record = read_outputs(folder.path)
    assert (record.attempt, record.faults) == (1, [])
    found = {one.name: one for one in record.artifacts}
    assert (found["model"].kind, found["model"].size_bytes, found["model"].files) == (ArtifactKind.FILE, 8, 1)
    assert (found["samples"].kind, found["samples"].size_bytes, found["samples"].files) == (ArtifactKind.FOLDER, 4, 2)
    assert {name: one.sha256 for name, one in found.items()} == {
        name: hash_content(folder.path, path).sha256 for name, path in OUTPUTS.items()
    }
    finished = events_of(folder)[-1]
    assert isinstance(finished, Finished)
    assert finished.outputs
    assert "text of the input" in folder.log.read_text()


def test_the_agent_says_what_is_missing(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "mkdir samples; ln -s /etc out", outputs=OUTPUTS)
    assert run_agent(folder) == 0
    record = read_outputs(folder.path)
    assert [one.name for one in record.artifacts] == ["samples"]
    (fault,) = record.faults
    assert (fault.name, fault.path) == ("model", "out/model.pt")
    assert "link" in fault.problem


def test_a_program_that_failed_records_nothing(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "mkdir samples out; touch out/model.pt; exit 3", outputs=OUTPUTS)
    assert run_agent(folder) == 1
    assert not (folder.path / "outputs.json").exists()
