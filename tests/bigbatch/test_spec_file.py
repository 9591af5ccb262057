"""Tests of experiment files and their base files."""

import io
import sys
from pathlib import Path

import pytest

from bigbatch import DocumentRefused
from bigbatch.spec_file import read_spec
from contract.yaml_reader import read_document
from tests.testing.command import SPEC

pytestmark = pytest.mark.ring("quick")

RUN = read_document(SPEC)["base"]
RUN_TEXT = """
optimizer: {kind: sgd}
schedule: {kind: constant, rate: 0.05}
batch: 64
epochs: 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of specs beside a file that it must not reach."""
    (tmp_path / "secret.yaml").write_text(RUN_TEXT)
    folder = tmp_path / "specs"
    (folder / "bases").mkdir(parents=True)
    (folder / "base.yaml").write_text(RUN_TEXT)
    (folder / "bases" / "deep.yaml").write_text(RUN_TEXT)
    (folder / "whole.yaml").write_text(SPEC)
    return folder


def sweep(folder: Path, base: str, name: str = "sweep.yaml") -> str:
    (folder / name).write_text(f"name: sweep\nbase: {base}\n")
    return str(folder / name)


@pytest.mark.parametrize("base", ["base.yaml", "./base.yaml", "bases/deep.yaml", "bases/../base.yaml", "whole.yaml"])
def test_a_base_may_stand_in_a_file_beside_or_below(folder: Path, base: str) -> None:
    assert read_spec(sweep(folder, base)) == {"name": "sweep", "base": RUN}


def test_a_base_may_lead_on_to_another(folder: Path) -> None:
    sweep(folder / "bases", "deep.yaml", "middle.yaml")
    assert read_spec(sweep(folder, "bases/middle.yaml"))["base"] == RUN


def test_json_is_read_alike(folder: Path) -> None:
    (folder / "spec.json").write_text('{"name": "sweep", "base": "base.yaml"}')
    assert read_spec(str(folder / "spec.json"))["base"] == RUN


def test_a_spec_is_found_from_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(folder, "bases/deep.yaml")
    monkeypatch.chdir(folder / "bases")
    assert read_spec("../sweep.yaml")["base"] == RUN


@pytest.mark.parametrize("base", ["../secret.yaml", "bases/../../secret.yaml", "..", "../specs-other/base.yaml"])
def test_a_base_outside_the_folder_is_refused(folder: Path, base: str) -> None:
    with pytest.raises(DocumentRefused, match=r"base: '.*' is outside the folder of sweep\.yaml"):
        read_spec(sweep(folder, base))


def test_an_absolute_base_is_refused(folder: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"base: '/.*' is absolute"):
        read_spec(sweep(folder, str(folder / "base.yaml")))


def test_a_link_that_leads_outside_is_refused(folder: Path) -> None:
    (folder / "link.yaml").symlink_to(folder.parent / "secret.yaml")
    (folder / "up").symlink_to(folder.parent)
    for base in ("link.yaml", "up/secret.yaml"):
        with pytest.raises(DocumentRefused, match="is outside"):
            read_spec(sweep(folder, base))


def test_a_link_that_stays_inside_is_followed(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("bases/deep.yaml")
    assert read_spec(sweep(folder, "link.yaml"))["base"] == RUN


def test_a_base_of_a_base_may_not_climb_back(folder: Path) -> None:
    sweep(folder / "bases", "../base.yaml", "middle.yaml")
    with pytest.raises(DocumentRefused, match=r"middle\.yaml is not a valid experiment\nbase: .*is outside"):
        read_spec(sweep(folder, "bases/middle.yaml"))


@pytest.mark.parametrize("base", ["sweep.yaml", "other.yaml"])
def test_a_circle_of_bases_is_refused(folder: Path, base: str) -> None:
    sweep(folder, "sweep.yaml", "other.yaml")
    with pytest.raises(DocumentRefused, match=r"form a cycle: sweep\.yaml -> .*sweep\.yaml"):
        read_spec(sweep(folder, base))


def test_a_circle_of_links_is_refused(folder: Path) -> None:
    (folder / "a.yaml").symlink_to("b.yaml")
    (folder / "b.yaml").symlink_to("a.yaml")
    with pytest.raises(DocumentRefused, match=r"base: 'a\.yaml' cannot be found"):
        read_spec(sweep(folder, "a.yaml"))


@pytest.mark.parametrize("base", ["absent.yaml", "bases", "a" * 300 + ".yaml"])
def test_a_base_that_cannot_be_read_is_named(folder: Path, base: str) -> None:
    with pytest.raises(
        DocumentRefused, match=rf"sweep\.yaml is not a valid experiment\nbase: '.*{base}' cannot be read: "
    ):
        read_spec(sweep(folder, base))


def test_a_base_with_a_nul_in_its_name_is_refused(folder: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"contains a NUL or surrogate character"):
        read_spec(sweep(folder, r'"base\0.yaml"'))


def test_a_base_that_is_no_document_is_refused(folder: Path) -> None:
    (folder / "broken.yaml").write_text("a: [1\n")
    with pytest.raises(DocumentRefused, match=r"broken\.yaml is not a valid experiment\nbase: line 2"):
        read_spec(sweep(folder, "broken.yaml"))


def test_a_spec_that_cannot_be_read_is_named(folder: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"absent\.yaml' cannot be read: no such file"):
        read_spec(str(folder / "absent.yaml"))
    with pytest.raises(DocumentRefused, match="bases' cannot be read: is a directory"):
        read_spec(str(folder / "bases"))


def test_standard_input_has_no_files_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (SPEC, "name: sweep\nbase: base.yaml"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        if text == SPEC:
            assert read_spec("-") == read_document(SPEC)
        else:
            with pytest.raises(DocumentRefused, match="base: standard input has no folder"):
                read_spec("-")
