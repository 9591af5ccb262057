"""A base need not repeat the fields that every point of the grid sets."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import read_experiment
from contract.spec.grid.base_fields import complete_base
from contract.spec.grid.step_grid import REQUIRED
from contract.spec.program.run import ProgramSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {"batch": 64, "epochs": 1}
PAIRS = [
    {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}},
    {"optimizer": {"kind": "lars"}, "schedule": {"kind": "polynomial", "rate": 8.0}},
]


def test_variants_and_axes_give_the_base_what_it_lacks() -> None:
    made = read_experiment({"name": "pairs", "base": BASE, "variants": PAIRS, "axes": {"seed": [3, 4]}})
    kinds = [(run.optimizer.kind, run.schedule.kind, run.seed) for _, run in made.points if run.kind == "engine"]
    assert kinds == [(o, s, n) for o, s in (("sgd", "constant"), ("lars", "polynomial")) for n in (3, 4)]
    assert [list(values) for values, _ in made.points] == [["optimizer", "schedule", "seed"]] * 4
    again = read_experiment(made.spec.model_dump(mode="json"))
    assert [run for _, run in again.points] == [run for _, run in made.points]


def test_what_the_base_says_stays() -> None:
    base = {**BASE, **PAIRS[1], "seed": 9}
    document = {"name": "axis", "base": base, "axes": {"optimizer": [{"kind": "sgd"}], "seed": [1]}}
    assert complete_base(document, REQUIRED) == document


def test_a_part_of_a_field_gives_the_base_nothing() -> None:
    document = {"name": "axis", "base": {**BASE, "schedule": PAIRS[0]["schedule"]}, "axes": {"optimizer.kind": ["sgd"]}}
    with pytest.raises(ValidationError) as refused:
        read_experiment(document)
    assert [(issue.path, issue.message) for issue in issues_of(refused.value)] == [("base.optimizer", "required field")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"variants": [3]},
        {"variants": "x", "axes": []},
        {"axes": {"optimizer": []}},
        {"axes": {"optimizer": 7}},
        {"base": None},
        {"base": [], "axes": {"optimizer": [1]}},
        {"variants": [{3: 4}], "axes": {5: [6]}},
    ],
)
def test_a_document_of_another_form_is_refused_with_a_sentence(wrong: dict[str, Any]) -> None:
    for base in (BASE, {"kind": "program", "command": "echo {lr}", "parameters": {"lr": 1}}):
        with pytest.raises(ValidationError):
            read_experiment({"name": "wrong", "base": base, **wrong})


def program_runs(grid: dict[str, Any], **base: Any) -> list[ProgramSpec]:
    """Return the runs of a program with a grid; its document must be read back with the same runs."""
    document = {"name": "program", "base": {"kind": "program", "command": "echo {lr} {net.depth}", **base}, **grid}
    made = read_experiment(document)
    runs = [run for _, run in made.points if isinstance(run, ProgramSpec)]
    assert [run for _, run in read_experiment(made.spec.model_dump(mode="json")).points] == runs
    return runs


@pytest.mark.parametrize("base", [{}, {"parameters": {}}, {"parameters": {"net": {"width": 4}}}])
def test_an_axis_over_a_parameter_gives_the_base_the_parameter(base: dict[str, Any]) -> None:
    runs = program_runs({"axes": {"parameters.lr": [0.1, 0.2], "parameters.net.depth": [3]}}, **base)
    assert [run.parameters["lr"] for run in runs] == [0.1, 0.2]
    width = base.get("parameters", {}).get("net", {})
    assert [run.parameters["net"] for run in runs] == [{**width, "depth": 3}] * 2


def test_variants_and_an_axis_over_all_parameters_give_the_base_its_parameters() -> None:
    whole = [{"lr": lr, "net": {"depth": 3}} for lr in (0.1, 0.2)]
    assert [run.parameters for run in program_runs({"axes": {"parameters": whole}})] == whole
    together = [{"parameters.lr": lr, "parameters.net": {"depth": depth}} for lr, depth in ((0.1, 1), (0.2, 2))]
    runs = program_runs({"variants": together})
    assert [(run.parameters["lr"], run.parameters["net"]["depth"]) for run in runs] == [(0.1, 1), (0.2, 2)]


def test_an_axis_over_an_input_gives_the_base_the_input() -> None:
    runs = program_runs({"axes": {"inputs.data": ["/data/a", "/data/b"]}}, command="wc {inputs.data}")
    assert [run.inputs for run in runs] == [{"data": "/data/a"}, {"data": "/data/b"}]


def test_a_search_over_parameters_gives_the_base_those_that_every_trial_has() -> None:
    space: dict[str, Any] = {
        "parameters.lr": {"kind": "log_uniform", "low": 0.01, "high": 1.0},
        "parameters.net.depth": {"kind": "choice", "values": [3, 4]},
        "parameters.noise": {"kind": "normal", "mean": 0.5, "deviation": 0.1},
        "parameters.beta": {"kind": "uniform", "low": 0.0, "high": 1.0, "only_if": {"parameters.net.depth": [4]}},
    }
    search = {"space": space, "sampler": {"kind": "random"}, "metric": "loss", "trials": 3}
    document = {"name": "s", "base": {"kind": "program", "command": "x {lr} {net.depth} {noise}"}, "search": search}
    base = read_experiment(document).spec.base
    assert isinstance(base, ProgramSpec)
    assert base.parameters == {"lr": 0.01, "net": {"depth": 3}, "noise": 0.5}


def test_a_parameter_that_neither_the_base_nor_the_grid_has_is_refused() -> None:
    with pytest.raises(ValidationError, match="is no parameter"):
        program_runs({"axes": {"parameters.lr": [0.1]}})
