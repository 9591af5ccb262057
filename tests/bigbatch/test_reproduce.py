"""`bigbatch submit` with a snapshot, `bigbatch rerun` and `bigbatch diff`, against a service."""

import json
from pathlib import Path

import pytest

from bigbatch.client import Client
from bigbatch.commands.diff import _format
from tests.testing.command import Call, Site
from tests.testing.snapshots import repository, write

SPEC = """
name: a program
base: {kind: program, command: "python train.py --lr {lr}", launcher: plain, parameters: {lr: 0.1}}
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = repository(tmp_path / "project", {"README": "a project\n", "work/train.py": "print(1)\n"})
    write(root, {"work/spec.yaml": SPEC})
    return root / "work"


def submit(call: Call, *arguments: object) -> int:
    found = call("submit", "--json", *arguments)
    assert found.code == 0, found.err
    return int(json.loads(found.out)["runs"][0])


def test_submit_takes_a_snapshot_of_the_folder_of_the_file(call: Call, client: Client, project: Path) -> None:
    shown = call("submit", project / "spec.yaml")
    assert "code: snapshot " in shown.err
    assert "3 files" in shown.err
    assert "main at " in shown.err
    assert " with 1 change" in shown.err
    run = client.run(submit(call, project / "spec.yaml"))
    assert run.spec.kind == "program"
    assert run.spec.code == client.snapshot(project).hash
    assert run.spec.subfolder == "work"


@pytest.mark.parametrize(
    ("field", "options"),
    [("", ["--no-snapshot"]), ("working_folder: /tmp", []), ("code: CODE", [])],
)
def test_a_spec_that_says_where_its_code_is_stays_as_it_is(
    call: Call, client: Client, project: Path, field: str, options: list[str]
) -> None:
    own = client.snapshot(project.parent).hash
    text = SPEC.replace(
        "launcher: plain", f"launcher: plain, {field.replace('CODE', own)}" if field else "launcher: plain"
    )
    (project / "spec.yaml").write_text(text)
    run = client.run(submit(call, *options, project / "spec.yaml"))
    assert run.spec.kind == "program"
    assert run.spec.code == (own if "CODE" in field else None)
    assert run.spec.subfolder is None


def test_an_engine_run_gets_no_snapshot(call: Call, spec: Path, client: Client) -> None:
    assert call("submit", spec).err == ""


def test_a_folder_that_is_too_large_is_refused_before_anything_is_created(
    call: Call, client: Client, project: Path
) -> None:
    (project / "data.bin").write_bytes(b"x" * 3_000_000)
    before = next(iter(client.experiments(limit=1)), None)
    refused = call("submit", "--snapshot-mb", "1", project / "spec.yaml")
    assert refused.code == 2
    assert "3.0 MB  work/data.bin" in refused.err
    assert next(iter(client.experiments(limit=1)), None) == before


def test_rerun_repeats_the_spec_and_the_code_though_the_folder_changed(
    call: Call, client: Client, project: Path
) -> None:
    run_id = submit(call, project / "spec.yaml")
    write(project, {"train.py": "print(2)\n"})
    again = json.loads(call("rerun", "--json", run_id).out)
    first, second = client.run(run_id), client.run(again["runs"][0])
    assert first.spec == second.spec
    assert client.experiment(again["id"]).name == f"rerun of run {run_id}: a program"
    assert client.experiment(again["id"]).origin == first.experiment_id
    assert f"run {run_id} of experiment {first.experiment_id}" in client.experiment(again["id"]).description
    assert f"experiment {again['id'] + 1}, 1 run: " in call("rerun", run_id).out


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("value", "shown"), [(1, "1"), (1.0, "1.0"), ("1", '"1"'), ("true", '"true"'), ("a b", "a b"), (None, "-")]
)
def test_diff_shows_values_of_different_types_differently(value: object, shown: str) -> None:
    assert _format(value) == shown


def test_diff_shows_spec_code_and_environment(call: Call, client: Client, site: Site, project: Path) -> None:
    first = submit(call, project / "spec.yaml")
    write(project, {"train.py": "print('\x1b[31mred')\n"})
    (project / "spec.yaml").write_text(SPEC.replace("0.1", "0.2"))
    second = submit(call, project / "spec.yaml")
    shown = call("diff", first, second).out
    assert "parameters.lr" in shown
    assert "-print(1)" in shown
    assert "+print('" in shown
    assert "\x1b" not in shown
    assert f"environment: run {first} has no record of its environment" in shown
    found = json.loads(call("diff", "--json", first, second).out)
    assert found["spec"] == [{"path": "parameters.lr", "first": 0.1, "second": 0.2}]
    assert found["code"]["total"] == 2
    assert "both runs have the same code" in call("diff", first, first).out
    assert call("diff", first, 999_999).code == 1
    assert client.environment(first) is None
