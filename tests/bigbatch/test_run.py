"""`bigbatch run` and `bigbatch export`: the experiment that the options describe, and the YAML of a stored one."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bigbatch.cli import app
from bigbatch.commands.program.export import without_defaults
from bigbatch.errors import DocumentRefused
from contract.spec.expanded import read_experiment
from contract.yaml_reader import read_document


@pytest.fixture(autouse=True)
def _no_active_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_DEFAULT_ENV"):
        monkeypatch.delenv(name, raising=False)


def printed(*words: str) -> dict[str, Any]:
    """Return the document that `bigbatch run --print` prints; it must be a valid experiment."""
    result = CliRunner().invoke(app, ["run", "--print", *words])
    assert result.exit_code == 0, result.output
    document = read_document(result.stdout.encode())
    read_experiment(document)
    return document


def test_a_sweep_on_slurm_is_one_line() -> None:
    slurm = ["--partition", "gpu", "--nodes", "2", "--ranks-per-node", "4", "--sweep", "lr=0.1,0.2"]
    document = printed(*slurm, "--", "python", "train.py", "--lr", "{lr}")
    assert document["base"]["command"] == ["python", "train.py", "--lr", "{lr}"]
    assert document["base"]["resources"] == {"kind": "slurm", "ranks_per_node": 4, "partition": "gpu", "nodes": 2}
    assert document["axes"] == {"parameters.lr": [0.1, 0.2]}
    assert len(read_experiment(document).points) == 2


def test_without_a_partition_the_runs_are_local() -> None:
    assert printed("--ranks-per-node", "2", "--", "true")["base"]["resources"] == {"kind": "local", "ranks_per_node": 2}


def test_an_option_of_slurm_without_slurm_is_refused() -> None:
    with pytest.raises(Exception, match="do not fit"):
        CliRunner().invoke(app, ["run", "--print", "--minutes", "5", "--", "true"], catch_exceptions=False)


def test_the_environment_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/home/ann/venv")
    assert printed("--", "true")["base"]["environment"] == {"venv": "/home/ann/venv"}
    words = ["--conda", "torch", "--module", "cuda/12", "--env", "A=b=c", "--setup", "ulimit -n 99", "--", "true"]
    assert printed(*words)["base"]["environment"] == {
        "modules": ["cuda/12"],
        "setup": ["ulimit -n 99"],
        "variables": {"A": "b=c"},
        "conda": "torch",
    }


def test_options_of_sbatch_and_values_of_any_kind() -> None:
    words = ["--slurm", "--sbatch", "exclusive", "--sbatch", "nice=5", "--sweep", "o=sgd,adam", "--", "echo {o} > out"]
    document = printed(*words)
    assert document["base"]["resources"]["options"] == {"exclusive": True, "nice": 5}
    assert document["axes"] == {"parameters.o": ["sgd", "adam"]}
    assert document["base"]["command"] == "echo {o} > out"


def test_a_sweep_has_its_values_as_they_were_typed() -> None:
    words = ["--sweep", "layers=[1,2],[3,4]", "--sweep", "py=3.9,3.10", "--sweep", "sha=25921e05,abc", "--", "true"]
    document = printed(*words)
    assert document["axes"] == {
        "parameters.layers": [[1, 2], [3, 4]],
        "parameters.py": ["3.9", "3.10"],
        "parameters.sha": ["25921e05", "abc"],
    }


def test_numbers_that_stay_texts_are_named_beside_the_document() -> None:
    result = CliRunner().invoke(app, ["run", "--print", "--sweep", "momentum=0.90,0.95", "--", "echo {momentum}"])
    assert result.stderr == "note: the values of parameters.momentum are texts, as typed: 0.90, 0.95\n"


def test_an_option_of_sbatch_is_a_text_as_it_was_typed() -> None:
    words = ["--slurm", "--sbatch", "wckey=25921e05", "--sbatch", "licenses=3.10", "--sbatch", "nice=08", "--", "true"]
    assert printed(*words)["base"]["resources"]["options"] == {"wckey": "25921e05", "licenses": "3.10", "nice": "08"}


def test_a_sweep_whose_bracket_has_no_end_is_refused() -> None:
    with pytest.raises(Exception, match="cannot be read"):
        CliRunner().invoke(app, ["run", "--print", "--sweep", "x=[1,2", "--", "true"], catch_exceptions=False)


@pytest.mark.parametrize("recipe", sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml")), ids=lambda p: p.stem)
def test_an_export_is_the_same_experiment(recipe: Path) -> None:
    spec = read_experiment(read_document(recipe.read_bytes())).spec
    short = without_defaults(spec)
    again = read_experiment(json.loads(json.dumps(short))).spec
    assert again.model_dump(mode="json") == spec.model_dump(mode="json")


@pytest.mark.ring("gate")
def test_a_parameter_may_be_inside_another_one_as_hydra_writes_it() -> None:
    document = printed("--sweep", "model.width=3,4", "--", "python", "train.py", "model.width={model.width}")
    assert document["base"]["parameters"] == {"model": {"width": 3}}
    points = read_experiment(document).points
    assert [run.model_dump()["parameters"] for _, run in points] == [{"model": {"width": 3}}, {"model": {"width": 4}}]


@pytest.mark.ring("gate")
@pytest.mark.parametrize(
    ("sweep", "advice"),
    [
        ("+model.width=3,4", "write --sweep model.width=3,4 and in the command +model.width={model.width}"),
        ("learning-rate=1", "write --sweep learning_rate=1 and in the command learning-rate={learning_rate}"),
        ("~db=1", "write --sweep db=1 and in the command ~db={db}"),
        ("a..b=1", "write --sweep p_a__b=1 and"),
        ("model=1", "model is a parameter and has the parameter model.width in it"),
    ],
)
def test_a_name_that_no_parameter_can_have_is_refused_with_the_line_to_write(sweep: str, advice: str) -> None:
    words = ["run", "--print", "--sweep", sweep, "--sweep", "model.width=3", "--", "true"]
    for line in (words, [*words[:2], *words[4:6], *words[2:4], *words[6:]]):
        with pytest.raises(DocumentRefused) as refused:
            CliRunner().invoke(app, line, catch_exceptions=False)
        assert advice in str(refused.value)


@pytest.mark.ring("gate")
def test_a_swept_parameter_that_the_command_does_not_name_is_noted() -> None:
    words = ["run", "--print", "--sweep", "model.width=3,4", "--sweep", "lr=1,2", "--", "python", "train.py", "{lr}"]
    result = CliRunner().invoke(app, words)
    assert "{model.width} is not in the command" in result.stderr
    assert "write it there, as model.width={model.width}" in result.stderr
    assert "{lr} is not" not in result.stderr


@pytest.mark.ring("gate")
def test_labels_are_options() -> None:
    words = ["--name", "line", "--project", "vision", "--tag", "a", "--tag", "b", "--description", "Two rates."]
    document = printed(*words, "--", "true")
    labels = {name: document[name] for name in ("name", "project", "tags", "description")}
    assert labels == {"name": "line", "project": "vision", "tags": ["a", "b"], "description": "Two rates."}
    assert list(printed("--", "true")) == ["name", "base"]
