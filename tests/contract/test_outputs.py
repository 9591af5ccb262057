"""Outputs: which paths a spec may name, the hash of a file or folder, and the bounds of the record."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from contract.folder.outputs.content import ContentError, hash_content, size_of_content
from contract.folder.outputs.record import OutputsRecord, read_outputs
from contract.spec.program.run import ProgramSpec
from contract.validation import issues_of
from runfiles.content import describe_content
from tests.testing.specs import small_experiment

pytestmark = pytest.mark.ring("quick")

HASH = "0" * 64


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/passwd", "absolute"),
        ("../other/model.pt", "'..'"),
        ("out/../../model.pt", "'..'"),
        ("./model.pt", "'.'"),
        ("out//model.pt", "empty part"),
        ("out/", "empty part"),
        ("events.jsonl", "a file of the service"),
        ("attempts/1.json", "a file of the service"),
        ("outputs.json", "a file of the service"),
    ],
)
def test_a_path_that_is_not_the_runs_own_is_refused_with_its_place(path: str, message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ProgramSpec.model_validate({"command": "true", "outputs": {"model": path}})
    (issue,) = issues_of(refused.value)
    assert (issue.path, message in issue.message) == ("outputs.model", True)
    with pytest.raises(ValidationError, match=r"outputs\.model"):
        small_experiment(outputs={"model": path})


@pytest.mark.parametrize("name", ["", "a.b", "a b", "1st", "step-0000000004-attempt-1", "a" * 101])
def test_a_name_that_no_reference_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        ProgramSpec.model_validate({"command": "true", "outputs": {name: "model.pt"}})


def test_both_kinds_of_run_have_outputs() -> None:
    outputs = {"weights": "checkpoints", "sample": "samples/last one.png"}
    ((_, engine),) = small_experiment(outputs=outputs).points
    program = ProgramSpec.model_validate(
        {"command": "train {outputs.sample} {inputs.data}", "outputs": outputs} | {"inputs": {"data": "/data/a.tsv"}}
    )
    assert engine.outputs == program.outputs == outputs


def test_a_parameter_cannot_have_the_name_of_the_outputs() -> None:
    fields = {"command": "train {outputs.model}", "parameters": {"outputs": {"model": 1}}}
    assert ProgramSpec.model_validate(fields)
    with pytest.raises(ValidationError, match="choose another name"):
        ProgramSpec.model_validate({**fields, "outputs": {"model": "model.pt"}})


def make_tree(root: Path) -> Path:
    """Write a folder with two files in folders, and a link."""
    tree = root / "tree"
    (tree / "b" / "inner").mkdir(parents=True)
    (tree / "a").write_bytes(b"1" * 3_000_000)
    (tree / "b" / "inner" / "c \xe9\n").write_bytes(b"2")
    (tree / "link").symlink_to("a")
    return tree


def _append_a_byte(tree: Path) -> None:
    with (tree / "a").open("ab") as file:
        file.write(b"1")


def _change_a_byte(tree: Path) -> None:
    (tree / "a").write_bytes(b"1" * 2_999_999 + b"2")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": _change_a_byte,
    "one byte more": _append_a_byte,
    "a name": lambda tree: (tree / "a").rename(tree / "d"),
    "a file more": lambda tree: (tree / "b" / "empty").write_bytes(b""),
    "a file less": lambda tree: (tree / "b" / "inner" / "c \xe9\n").unlink(),
    "the target of a link": lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("b")),
}
SAME: dict[str, Callable[[Path], object]] = {
    "the moment of a file": lambda tree: os.utime(tree / "a", (1, 1)),
    "the permissions of a file": lambda tree: (tree / "a").chmod(0o600),
    "an empty folder": lambda tree: (tree / "empty").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_the_content_changes_the_hash_of_the_folder(change: str, tmp_path: Path) -> None:
    before = hash_content(tmp_path, make_tree(tmp_path).name)
    CHANGES[change](tmp_path / "tree")
    assert hash_content(tmp_path, "tree").sha256 != before.sha256


@pytest.mark.parametrize("change", SAME)
def test_what_is_no_content_leaves_the_hash_as_it_is(change: str, tmp_path: Path) -> None:
    before = hash_content(tmp_path, make_tree(tmp_path).name)
    SAME[change](tmp_path / "tree")
    assert hash_content(tmp_path, "tree") == before


def test_a_job_computes_the_same_hashes(tmp_path: Path) -> None:
    make_tree(tmp_path)
    for name in ("tree", "tree/a", "tree/b/inner"):
        assert describe_content(tmp_path, name) == hash_content(tmp_path, name)._asdict()
        assert size_of_content(tmp_path, name) == hash_content(tmp_path, name).size_bytes


@pytest.mark.parametrize("name", ["nothing", "tree/link", "tree/link/a", "fifo", "with_fifo"])
def test_neither_hashes_a_link_a_fifo_or_nothing(name: str, tmp_path: Path) -> None:
    make_tree(tmp_path)
    (tmp_path / "with_fifo").mkdir()
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "with_fifo" / "fifo")
    with pytest.raises(ContentError):
        hash_content(tmp_path, name)
    with pytest.raises(ContentError):
        describe_content(tmp_path, name)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "../../other/secret"},
        {"path": "/etc/passwd"},
        {"path": "a\x1b[31m"},
        {"name": "../x"},
        {"size_bytes": -1},
        {"size_bytes": 2**63},
        {"sha256": "x"},
        {"kind": "device"},
    ],
)
def test_a_record_out_of_bounds_is_not_read(change: dict[str, object], tmp_path: Path) -> None:
    good = {"name": "m", "kind": "file", "path": "m.pt", "size_bytes": 1, "files": 1, "sha256": HASH}
    assert OutputsRecord.model_validate({"attempt": 1, "artifacts": [good]})
    (tmp_path / "outputs.json").write_text(str({"attempt": 1, "artifacts": [good | change]}).replace("'", '"'))
    with pytest.raises(ValidationError):
        read_outputs(tmp_path)
