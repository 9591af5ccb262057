"""Specs of a user's own parts: their form, and the choices that they do not go with."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.checks.imported import check_module
from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

OWN = {"kind": "import", "function": "my.parts:make"}
DATA = {**OWN, "shape": [1, 28, 28], "classes": 10, "train_samples": 100, "heldout_samples": 10}
VECTORS = {**DATA, "shape": [20], "classes": None}
FOLDER = {"kind": "folder", "path": "/images", "classes": 2, "train_samples": 100, "heldout_samples": 10}
TWO = {"resources": {"kind": "local", "ranks_per_node": 2}}


def a_run(**choices: Any) -> RunSpec:
    plain = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 2}
    return RunSpec.model_validate({**plain, **choices})


@pytest.mark.parametrize(
    "choices",
    [
        {"data": DATA},
        {"data": {**DATA, "classes": None}, "model": OWN, "loss": OWN},
        {"data": VECTORS, "model": OWN, "loss": OWN},
        {"data": {**VECTORS, "classes": 3}, "model": OWN},
        {"optimizer": OWN, "schedule": OWN, "loss": OWN, "augmentation": OWN, "metrics": {"f1": OWN}},
        {"data": FOLDER, "augmentation": {**OWN, "first": "crop_mirror"}},
        {"data": FOLDER, "augmentation": {"kind": "none"}},
        {"data": FOLDER, "augmentation": {"kind": "mirror"}},
        {"augmentation": {"kind": "none"}},
        {"data": {"kind": "reversal"}, "model": {"kind": "gnmt"}, "augmentation": {"kind": "none"}},
        {**TWO, "rule": {"kind": "async_sgd"}, "schedule": OWN},
    ],
)
def test_own_parts_go_with_the_engine_s(choices: dict[str, Any]) -> None:
    run = a_run(**choices)
    assert RunSpec.model_validate_json(run.model_dump_json()) == run


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        ({"data": VECTORS, "model": OWN}, "loss.kind: without data.classes there is no cross-entropy"),
        ({"data": {**DATA, "classes": None}, "loss": OWN}, "model.kind: convnet needs data.classes"),
        (
            {"data": {**VECTORS, "classes": 3}},
            "model: convnet needs images (channels, height, width); the samples have the shape [20]",
        ),
        ({"data": {**DATA, "shape": []}}, "data.shape: list should have at least 1 item"),
        ({"loss": OWN, "label_smoothing": 0.1}, "label_smoothing: a loss of your own smooths its labels itself"),
        (
            {"augmentation": {"kind": "mirror"}},
            "augmentation.kind: mirror needs an image folder, and the data set is digits; use none",
        ),
        ({"augmentation": {**OWN, "first": "crop"}}, "augmentation.first: crop needs an image folder"),
        (
            {"augmentation": OWN, "data": {"kind": "reversal"}, "model": {"kind": "gnmt"}},
            "augmentation.kind: an augmentation of your own changes images, and reversal has none",
        ),
        ({"augmentation": {"kind": "flip"}}, "augmentation: unknown kind 'flip'"),
        ({"metrics": {"loss": OWN}}, "metrics.loss: the engine has a series of this name"),
        ({"metrics": {"a b": OWN}}, "metrics.a b"),
        ({"metrics": {f"m{number}": OWN for number in range(51)}}, "metrics: dictionary should have at most 50 items"),
        ({"metrics": {"f1": {**OWN, "function": "f1"}}}, "metrics.f1.function: 'f1' must have the form package.module"),
        ({"optimizer": {**OWN, "options": {"params": 1}}}, "optimizer.options.params: params is set by the engine"),
        ({"schedule": {**OWN, "options": {"epochs": 1}}}, "schedule.options.epochs: epochs is set by the engine"),
        ({"loss": {**OWN, "options": {"a-b": 1}}}, "loss.options: 'a-b' is not a valid argument name"),
        (
            {**TWO, "rule": {"kind": "easgd"}, "schedule": OWN},
            "schedule.kind: easgd needs the highest rate, which a schedule of your own does not state",
        ),
        (
            {**TWO, "rule": {"kind": "easgd"}, "optimizer": OWN},
            "optimizer.kind: easgd is defined for SGD only; use the rule sync with an optimizer of your own",
        ),
    ],
)
def test_what_does_not_go_together_is_named(choices: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        a_run(**choices)
    (issue,) = issues_of(refused.value)
    assert f"{issue.path}: {issue.message}".startswith(complaint)


def test_the_memory_of_own_parts_is_not_known() -> None:
    assert a_run().replica is not None
    assert [a_run(**{name: part}).replica for name, part in (("optimizer", OWN), ("data", DATA))] == [None, None]


def test_a_module_that_this_python_lacks_is_named_with_its_part() -> None:
    issues = [check_module(path, part) for path, part in a_run(data=DATA, metrics={"f1": OWN}).imports.items()]
    assert [issue and f"{issue.path}: {issue.message}" for issue in issues] == [
        "data.function: the service's Python has no module 'my'",
        "metrics.f1.function: the service's Python has no module 'my'",
    ]
    assert check_module("loss", a_run(loss={**OWN, "function": "json:loads"}).imports["loss"]) is None
