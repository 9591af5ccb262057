"""A spec is plain data; its points are carried beside it, and built and checked in one place."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import Expanded, expand, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.validation import issues_of
from tests.testing.workflows import document, engine, program, step

pytestmark = pytest.mark.ring("quick")
GRID: dict[str, Any] = {"name": "grid", "base": engine(), "axes": {"batch": [64, 128]}}


def test_a_spec_has_no_state_beside_its_fields() -> None:
    assert ExperimentSpec.__private_attributes__ == {}
    assert set(vars(ExperimentSpec.model_validate(GRID))) == set(ExperimentSpec.model_fields)
    assert not hasattr(ExperimentSpec.from_stored(GRID), "points")


def test_the_points_of_a_spec_do_not_change() -> None:
    made = read_experiment(GRID)
    assert [values for values, _ in made.points] == [{"batch": 64}, {"batch": 128}]
    for name in ("points", "spec"):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, [])
    fewer = made.with_points(made.points[:1])
    assert (len(fewer.points), len(made.points), fewer.spec) == (1, 2, made.spec)


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({**GRID, "axes": {"batch": [64, 7]}}, "axes.batch"),
        ({**GRID, "axes": {"optimiser": [1]}}, "axes.optimiser"),
        ({**GRID, "axes": {"seed": list(range(10_001))}}, "axes"),
        (document(step("a", needs=["b"])), "steps.0.needs.0"),
    ],
)
def test_what_is_wrong_across_points_is_found_when_they_are_built(wrong: dict[str, Any], path: str) -> None:
    spec = ExperimentSpec.model_validate(wrong)
    with pytest.raises(ValidationError) as error:
        expand(spec)
    assert [issue.path for issue in issues_of(error.value)] == [path]


@pytest.mark.parametrize("wrong", [{**GRID, "steps": [step("a")]}, {"name": "x"}, {**document(step("a")), "pack": 2}])
def test_a_document_of_no_form_is_no_spec(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExperimentSpec.model_validate(wrong)


def test_a_step_of_a_workflow_has_its_own_points() -> None:
    steps = (
        step("a", program(parameters={"x": 0}), axes={"parameters.x": [1, 2]}),
        step("b", program("cat {steps.a.last.folder}")),
        step("c", needs=["a"]),
    )
    made = read_experiment(document(*steps))
    sizes = {name: len(made.of_step(name).points) for name in ("a", "b", "c")}
    assert sizes == {"a": 2, "b": 0, "c": 1}
    assert made.of_step("a").spec == made.spec.of_step("a")
    assert isinstance(made.of_step("c"), Expanded)
