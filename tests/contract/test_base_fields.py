"""A base need not repeat the fields that every point of the grid sets."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.base_fields import complete_base
from contract.spec.grid.step_grid import REQUIRED
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {"batch": 64, "epochs": 1}
PAIRS = [
    {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}},
    {"optimizer": {"kind": "lars"}, "schedule": {"kind": "polynomial", "rate": 8.0}},
]


def test_variants_and_axes_give_the_base_what_it_lacks() -> None:
    spec = ExperimentSpec.model_validate({"name": "pairs", "base": BASE, "variants": PAIRS, "axes": {"seed": [3, 4]}})
    kinds = [(run.optimizer.kind, run.schedule.kind, run.seed) for _, run in spec.points() if run.kind == "engine"]
    assert kinds == [(o, s, n) for o, s in (("sgd", "constant"), ("lars", "polynomial")) for n in (3, 4)]
    assert [list(values) for values, _ in spec.points()] == [["optimizer", "schedule", "seed"]] * 4
    again = ExperimentSpec.model_validate(spec.model_dump(mode="json"))
    assert [run for _, run in again.points()] == [run for _, run in spec.points()]


def test_what_the_base_says_stays() -> None:
    base = {**BASE, **PAIRS[1], "seed": 9}
    document = {"name": "axis", "base": base, "axes": {"optimizer": [{"kind": "sgd"}], "seed": [1]}}
    assert complete_base(document, REQUIRED) == document


def test_a_part_of_a_field_gives_the_base_nothing() -> None:
    document = {"name": "axis", "base": {**BASE, "schedule": PAIRS[0]["schedule"]}, "axes": {"optimizer.kind": ["sgd"]}}
    with pytest.raises(ValidationError) as refused:
        ExperimentSpec.model_validate(document)
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
    with pytest.raises(ValidationError):
        ExperimentSpec.model_validate({"name": "wrong", "base": BASE, **wrong})
