"""Changes of an experiment's document, as `bigbatch clone --set` makes them."""

from typing import Any

import pytest

from bigbatch.client import Client
from bigbatch.document_changes import refuse_void_changes, set_paths
from bigbatch.errors import DocumentRefused
from tests.testing.command import SPEC, Call

pytestmark = pytest.mark.ring("gate")
GRID: dict[str, Any] = {
    "base": {"optimizer": {"kind": "sgd", "momentum": 0.9}, "parameters": {"lr": 1, "seed": 0}, "batch": 64},
    "axes": {"parameters.lr": [0.1, 0.2], "optimizer": [{"kind": "sgd"}, {"kind": "lars"}]},
    "variants": [{"batch": 64, "epochs": 2}, {"batch": 128, "epochs": 4}],
}


def test_a_path_into_a_value_is_refused() -> None:
    assert set_paths({"axes": {}}, {"axes.a.b": [1]}) == {"axes": {"a.b": [1]}}
    with pytest.raises(DocumentRefused, match=r"base\.batch has no fields"):
        set_paths({"base": {"batch": 3}}, {"base.batch.size": 4})


def test_an_axis_and_a_space_have_a_programs_parameter_by_its_own_name() -> None:
    space = {"search": {"space": {"parameters.lr": 1}}}
    assert set_paths(GRID, {"axes.lr": [3]})["axes"]["parameters.lr"] == [3]
    assert set_paths(space, {"search.space.lr": 2}) == {"search": {"space": {"parameters.lr": 2}}}


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        (
            {"base.parameters.lr": 0.5},
            "base.parameters.lr: the axis gives every run another value: set axes.parameters.lr=[0.5]",
        ),
        ({"base.parameters": {"lr": 0.5}}, "set axes.parameters.lr=[0.5]"),
        (
            {"base.optimizer.momentum": 0.5},
            "base.optimizer.momentum: the axis gives every run another value: set axes.optimizer=[...]",
        ),
        ({"base.batch": 32}, "base.batch: the variants give every run another value: set variants=[...]"),
    ],
)
def test_a_change_that_the_grid_makes_void_is_refused_with_what_to_set(changes: dict[str, Any], advice: str) -> None:
    with pytest.raises(DocumentRefused) as refused:
        refuse_void_changes(GRID, set_paths(GRID, changes), changes)
    assert advice in str(refused.value)


def test_a_search_is_named_too() -> None:
    found = {"base": {"batch": 1}, "axes": {}, "variants": [], "search": {"space": {"batch": {}}}}
    with pytest.raises(DocumentRefused, match=r"set search\.space\.batch={kind: choice, values: \[2\]}"):
        refuse_void_changes(found, found, {"base.batch": 2})


@pytest.mark.parametrize(
    "changes",
    [
        {"base.parameters.seed": 3},
        {"base.parameters": {"lr": 1, "seed": 3}},
        {"axes.lr": [3]},
        {"base.parameters.lr": 3, "axes": {}},
        {"name": "x"},
    ],
)
def test_other_changes_are_made(changes: dict[str, Any]) -> None:
    refuse_void_changes(GRID, set_paths(GRID, changes), changes)


def test_clone_refuses_a_void_change_and_creates_nothing(client: Client, call: Call) -> None:
    number = client.create(SPEC).id
    refused = call("clone", number, "--set", "base.schedule.rate=0.7")
    assert (refused.code, refused.out) == (2, "")
    assert "set axes.schedule.rate=[0.7]" in refused.err
    assert next(client.experiments()).id == number
    assert call("clone", number, "--set", "axes.schedule.rate=[0.7]").code == 0
    assert client.rerun_experiment(number).runs
