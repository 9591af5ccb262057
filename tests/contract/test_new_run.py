"""A new run whose choices the engine would ignore or cannot carry out is refused; a stored run stays readable."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.any_run import read_run
from contract.spec.expanded import read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

RUN = {
    "optimizer": {"kind": "sgd", "momentum": 0.0},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 1,
    "resources": {"kind": "local", "ranks_per_node": 4},
}
SERVED = [
    *({"kind": "easgd", "variant": name} for name in ("original", "async", "hogwild")),
    {"kind": "async_sgd"},
    {"kind": "async_sgd", "variant": "hogwild"},
]


def issues(**choices: Any) -> list[str]:
    try:
        read_experiment({"name": "new", "base": {**RUN, **choices}})
    except ValidationError as error:
        return [f"{issue.path}: {issue.message}" for issue in issues_of(error)]
    return []


@pytest.mark.parametrize("rule", [*SERVED, {"kind": "easgd", "variant": "sync1"}], ids=str)
@pytest.mark.parametrize("collective", [{"kind": "ring"}, {"kind": "auto"}, {"kind": "tree", "wire": "float16"}])
def test_a_collective_that_the_rule_does_not_use_is_refused(rule: dict[str, Any], collective: dict[str, Any]) -> None:
    [issue] = issues(rule=rule, collective=collective)
    assert issue.startswith("base.collective.kind: ")
    assert f"{rule['kind']} {rule.get('variant', 'async')}" in issue
    assert f"{collective['kind']} would have no effect: leave out the collective" in issue


@pytest.mark.parametrize("variant", ["sync2", "sync3"])
def test_a_collective_that_the_rule_uses_is_accepted(variant: str) -> None:
    assert issues(rule={"kind": "easgd", "variant": variant, "rho": 0.1}, collective={"kind": "ring"}) == []
    assert issues(rule={"kind": "sync"}, collective={"kind": "ring"}) == []


@pytest.mark.parametrize("rule", SERVED, ids=str)
def test_normalization_over_ranks_that_do_not_wait_is_refused(rule: dict[str, Any]) -> None:
    [issue] = issues(rule=rule, batch_norm={"group": 2})
    assert issue.startswith("base.batch_norm.group: ")
    assert "set group to 1, or use a synchronous rule" in issue


def test_a_stored_run_of_an_earlier_version_stays_readable() -> None:
    document = {**RUN, "rule": {"kind": "async_sgd"}, "collective": {"kind": "ring"}, "batch_norm": {"group": 2}}
    assert read_run(document).kind == "engine"
    assert ExperimentSpec.from_stored({"name": "old", "base": document}).base == read_run(document)


def test_the_point_of_a_grid_is_named() -> None:
    document = {
        "name": "grid",
        "base": {**RUN, "collective": {"kind": "ring"}},
        "axes": {"rule": [{"kind": "sync"}, {"kind": "async_sgd"}]},
    }
    with pytest.raises(ValidationError) as refused:
        read_experiment(document)
    [issue] = issues_of(refused.value)
    assert issue.path == "base.collective.kind"
    assert "(point 1: rule=async_sgd)" in issue.message
