"""Population-based training: what a search with this sampler is refused for, with the place in the document."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

RATE = {"kind": "log_uniform", "low": 0.01, "high": 1.0}
BASE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 1,
    "checkpoint": {"at_end": True},
    "resources": {"kind": "local", "ranks_per_node": 2},
}
PROGRAM = {"kind": "program", "command": "train --lr {lr}", "parameters": {"lr": 0.1}, "launcher": "plain"}
POPULATION = {"kind": "population", "members": 4}


def experiment(search: dict[str, Any], base: dict[str, Any] = BASE) -> Expanded:
    document = {"space": {"schedule.rate": RATE}, "sampler": POPULATION, "trials": 20, "value": "last"}
    return read_experiment({"name": "test", "base": base, "search": {**document, **search}})


def test_a_population_is_accepted_and_survives_the_database() -> None:
    made = experiment({})
    stored = made.spec.model_dump(mode="json")
    assert ExperimentSpec.from_stored(stored).model_dump(mode="json") == stored


def test_a_space_of_few_points_does_not_end_a_population() -> None:
    made = experiment({"space": {"batch": {"kind": "choice", "values": [32, 64]}}})
    assert made.spec.search is not None
    assert made.spec.search.size == 20


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("search.trials", {"trials": None}, {}, "say how many"),
    ("search.trials", {"trials": 7}, {}, "8 or more"),
    ("search.value", {"value": "best"}, {}, "write last"),
    ("search.early_stopping", {"early_stopping": {"kind": "median", "first": 0.5}}, {}, "leave it out"),
    ("search.repeats", {"repeats": {"times": 2}}, {}, "one run at a time"),
    ("search.sampler.members", {"sampler": {**POPULATION, "members": 1}}, {}, "greater than or equal to 2"),
    ("search.sampler.share", {"sampler": {**POPULATION, "share": 0.6}}, {}, "less than or equal to 0.5"),
    ("search.sampler.factors.0", {"sampler": {**POPULATION, "factors": [0.0]}}, {}, "greater than"),
    ("search.sampler.kind", {}, {"checkpoint": {}}, "at_end: true"),
    ("search.sampler.kind", {}, {"rule": {"kind": "async_sgd"}}, "use sync"),
    ("search.space.epochs", {"space": {"epochs": {"kind": "integer", "low": 1, "high": 3}}}, {}, "equal generations"),
    ("search.space.seed", {"space": {"seed": {"kind": "integer", "low": 1, "high": 3}}}, {}, "the base's seed"),
    (
        "search.space.model.width",
        {"space": {"model.width": {"kind": "integer", "low": 4, "high": 8}}},
        {"model": {"kind": "convnet"}},
        "equal nets",
    ),
]


@pytest.mark.parametrize(("path", "search", "base", "message"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_a_population_cannot_have_is_refused(
    path: str, search: dict[str, Any], base: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        experiment(search, {**BASE, **base})
    found = {issue.path: issue.message for issue in issues_of(caught.value)}
    assert message in found.get(path, ""), found


def test_a_program_has_no_weights_to_copy() -> None:
    with pytest.raises(ValidationError) as caught:
        experiment({"space": {"parameters.lr": RATE}}, PROGRAM)
    assert "use tpe" in {issue.path: issue.message for issue in issues_of(caught.value)}["search.sampler.kind"]
