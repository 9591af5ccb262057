"""Searches: what is refused, with the place in the document, and which points a space has."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.search.early_stopping import Asha, Hyperband, MedianStopping, brackets_of, rungs_of
from contract.spec.search.parameters import Choice, Integer, LogUniform, Uniform
from contract.spec.search.probe import probe_points
from contract.spec.search.space import grid_points, ordered
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

RATE = {"kind": "log_uniform", "low": 0.01, "high": 1.0}
BASE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 9,
    "resources": {"kind": "local", "ranks_per_node": 2},
}
PROGRAM = {"kind": "program", "command": "train --lr {lr}", "parameters": {"lr": 0.1}, "launcher": "plain"}
GRID, RANDOM = {"kind": "grid"}, {"kind": "random"}
PARENT = {"kind": "choice", "values": ["sgd", "lars"]}


def experiment(search: dict[str, Any], base: dict[str, Any] = BASE, **others: Any) -> Expanded:
    document = {"space": {"schedule.rate": RATE}, "sampler": RANDOM, "trials": 4, "at_once": 2}
    return read_experiment({"name": "test", "base": base, "search": {**document, **search}, **others})


def test_the_document_of_a_search_survives_the_database() -> None:
    made = experiment({"early_stopping": {"kind": "asha", "first": 1.0}, "repeats": {"times": 2}})
    stored = made.spec.model_dump(mode="json")
    assert ExperimentSpec.from_stored(stored).model_dump(mode="json") == stored
    assert made.spec.search is not None
    assert (made.spec.search.size, made.spec.search.maximizes) == (4, True)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("search.space", {"space": {}}, "no parameters"),
    ("search.space.schedul.rate", {"space": {"schedul.rate": RATE}}, "did you mean 'schedule'"),
    ("search.space.schedule.rate.high", {"space": {"schedule.rate": {**RATE, "high": 0.001}}}, "not above low"),
    ("search.space.schedule.rate.low", {"space": {"schedule.rate": {**RATE, "low": 0}}}, "greater than"),
    ("search.space.schedule.rate", {"space": {"schedule.rate": {"kind": "lognormal"}}}, "unknown kind"),
    ("search.space.batch.values.1", {"space": {"batch": {"kind": "choice", "values": [64, 64]}}}, "twice"),
    ("search.space.schedule.rate", {"space": {"schedule": PARENT, "schedule.rate": RATE}}, "also sets"),
    ("search.space.resources.kind", {"space": {"resources.kind": PARENT}}, "in common"),
    (
        "search.space.batch.only_if.optimizer.kind",
        {"space": {"batch": {"kind": "integer", "low": 2, "high": 4, "only_if": {"optimizer.kind": ["sgd"]}}}},
        "no parameter 'optimizer.kind'",
    ),
    (
        "search.space.batch.only_if.optimizer.kind",
        {
            "space": {
                "optimizer.kind": PARENT,
                "batch": {"kind": "integer", "low": 2, "high": 4, "only_if": {"optimizer.kind": ["adam"]}},
            }
        },
        "none of the values",
    ),
    (
        "search.space.seed.only_if",
        {
            "space": {
                "seed": {"kind": "choice", "values": [1, 2], "only_if": {"ema_decay": [0.5]}},
                "ema_decay": {"kind": "choice", "values": [0.5], "only_if": {"seed": [1]}},
            }
        },
        "circle",
    ),
    ("search.space.schedule.rate", {"sampler": GRID}, "a grid needs steps"),
    ("search.trials", {"trials": None}, "say how many"),
    ("search.trials", {"trials": 10_000, "repeats": {"times": 2}}, "20,000 runs, more than the limit"),
    ("search.at_once", {"at_once": 0}, "greater than or equal to 1"),
    ("search.sampler.kind", {"space": {"batch": PARENT}, "sampler": {"kind": "cma_es"}}, "adapts numbers"),
    ("search.sampler.points", {"sampler": {"kind": "list"}}, "no points"),
    ("search.sampler.points.0.batch", {"sampler": {"kind": "list", "points": [{"batch": 2}]}}, "no such parameter"),
    ("search.sampler.file", {"sampler": {"kind": "list", "file": "points.csv"}}, "reads no file"),
    ("search.sampler", {"sampler": {"kind": "bayes"}}, "unknown kind 'bayes'"),
    ("search.repeats.path", {"repeats": {"times": 2, "path": "batch_norm"}}, "no whole number"),
    ("search.repeats.path", {"repeats": {"times": 2}, "space": {"seed": PARENT}}, "sets this field"),
    ("search.early_stopping.last", {"early_stopping": {"kind": "asha", "first": 3.0, "last": 1.0}}, "not above"),
    ("search.early_stopping.first", {"early_stopping": {"kind": "asha", "first": 9.0}}, "not before the end"),
    (
        "search.early_stopping.last",
        {"early_stopping": {"kind": "median", "first": 3.0, "unit": "seconds"}},
        "seconds have no end",
    ),
    ("search.budget.rank_hours", {"budget": {"rank_hours": 0.0}}, "greater than"),
    ("search.space.batch", {"space": {"batch": {"kind": "choice", "values": [64, 63]}}}, "63 does not divide"),
    ("search.metrik", {"metrik": "loss"}, "unknown field"),
]


@pytest.mark.parametrize(("path", "change", "message"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_bad_field_is_refused_with_its_place(path: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        experiment(change)
    found = {issue.path: issue.message for issue in issues_of(refused.value)}
    assert path in found, found
    assert message in found[path]


def test_a_search_has_no_axes() -> None:
    with pytest.raises(ValidationError) as refused:
        experiment({}, axes={"seed": [1, 2]})
    assert [issue.path for issue in issues_of(refused.value)] == ["search"]


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"kind": "asha", "first": 1.0}, "search.early_stopping.unit"),
        ({"kind": "asha", "first": 1.0, "unit": "steps"}, "search.early_stopping.last"),
    ],
)
def test_a_programs_length_must_be_said(rule: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        experiment({"space": {"parameters.lr": RATE}, "metric": "loss", "early_stopping": rule}, PROGRAM)
    assert [issue.path for issue in issues_of(refused.value)] == [path]


def test_a_part_that_the_search_chooses_as_a_whole_need_not_be_in_the_base() -> None:
    base = {name: value for name, value in BASE.items() if name != "optimizer"}
    kinds = {"kind": "choice", "values": [{"kind": "lars"}, {"kind": "sgd", "momentum": 0.5}]}
    made = experiment({"space": {"optimizer": kinds}, "sampler": GRID, "trials": None}, base)
    assert [run.optimizer.kind for _, run in made.points if run.kind == "engine"] == ["lars", "sgd"]


def test_a_parameter_is_set_only_where_its_conditions_hold() -> None:
    space = {
        "b": Integer(low=1, high=2, only_if={"a": ["x"]}),
        "a": Choice(values=["x", "y"]),
        "c": Choice(values=[True, False], only_if={"b": [1]}),
    }
    assert ordered(space) == ["a", "b", "c"]
    points = grid_points(space, 100)
    assert points == [
        {"a": "x", "b": 1, "c": True},
        {"a": "x", "b": 1, "c": False},
        {"a": "x", "b": 2},
        {"a": "y"},
    ]


def test_every_end_of_a_space_is_tried_before_the_search_begins() -> None:
    made = experiment(
        {"space": {"schedule.rate": RATE, "batch": {"kind": "integer", "low": 32, "high": 96, "step": 32}}}
    )
    assert made.spec.search is not None
    tried = [(point["schedule.rate"], point["batch"]) for point in probe_points(made.spec.search)]
    assert tried == [
        (pytest.approx(0.1), 64),
        (0.01, 64),
        (1.0, 64),
        (pytest.approx(0.1), 32),
        (pytest.approx(0.1), 96),
    ]


@pytest.mark.parametrize(
    ("rule", "rungs"),
    [
        (Asha(first=1.0, reduction=3), [[1.0, 3.0, 9.0]]),
        (Asha(first=2.0, reduction=4, last=20.0), [[2.0, 8.0]]),
        (Hyperband(first=1.0, reduction=3), [[1.0, 3.0, 9.0], [3.0, 9.0], [9.0], []]),
        (MedianStopping(first=10.0, every=5.0), [[10.0, 15.0, 20.0, 25.0]]),
    ],
)
def test_rungs(rule: Asha | Hyperband | MedianStopping, rungs: list[list[float]]) -> None:
    assert [rungs_of(rule, 27.0, bracket) for bracket in range(brackets_of(rule, 27.0))] == rungs


def test_numbers_of_a_grid_are_short() -> None:
    space = {"x": Uniform(low=0.1, high=0.5, step=0.1)}
    assert [point["x"] for point in grid_points(space, 10)] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert grid_points({"x": LogUniform(low=0.1, high=1.0)}, 10) == []
