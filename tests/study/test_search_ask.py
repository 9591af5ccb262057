"""Trials that samplers ask for: the same history gives the same trials, and failures count as the worst."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from contract.spec.search.samplers import GridSampler, ListSampler
from contract.spec.search.search import SearchSpec
from study.search.ask import ask
from study.search.distributions import drawn_of, value_of
from study.search.history import study_of
from study.search.importance import importances
from study.search.trials import Outcome, PastTrial

pytestmark = pytest.mark.ring("quick")

SPACE: Mapping[str, Any] = {
    "kind": {"kind": "choice", "values": [{"kind": "sgd"}, {"kind": "lars"}]},
    "rate": {"kind": "log_uniform", "low": 0.01, "high": 10.0},
    "momentum": {"kind": "uniform", "low": 0.5, "high": 0.99, "step": 0.01},
    "batch": {"kind": "log_integer", "low": 16, "high": 1024},
    "layers": {"kind": "integer", "low": 1, "high": 9, "step": 2},
    "decay": {"kind": "normal", "mean": 0.5, "deviation": 0.1, "low": 0.4},
    "trust": {"kind": "uniform", "low": 0.0, "high": 1.0, "only_if": {"kind": [{"kind": "lars"}]}},
}
NUMBERS = {path: parameter for path, parameter in SPACE.items() if path in ("rate", "momentum")}
SAMPLERS = {"random": 12, "tpe": 12, "cma_es": 12, "gp": 5}  # trials: a Gaussian process takes a second for each


def search(sampler: str, space: Mapping[str, Any] = SPACE) -> SearchSpec:
    chosen = {"kind": sampler, "seed": 7} | ({"startup_trials": 4} if sampler in ("tpe", "gp") else {})
    document = {"space": dict(space), "sampler": chosen, "trials": 30, "goal": "minimize", "metric": "loss"}
    return SearchSpec.model_validate(document)


def carried_out(spec: SearchSpec, size: int) -> list[PastTrial]:
    """Ask for trials one by one; each is told, through JSON as a database stores it."""
    past: list[PastTrial] = []
    while len(past) < size:
        (one,) = ask(spec, past, 1)
        params, memory = json.loads(json.dumps([one.params, dict(one.memory)]))
        past.append(PastTrial(params, Outcome.ENDED, (params["rate"] - 0.3) ** 2, memory=memory))
    return past


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_history_gives_the_same_trials(sampler: str) -> None:
    spec = search(sampler)
    past = carried_out(spec, SAMPLERS[sampler])
    assert ask(spec, past[:-1], 1)[0].params == past[-1].params
    assert carried_out(spec, 4) == past[:4]
    assert len({json.dumps(trial.params) for trial in past}) == len(past)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_values_are_in_the_space_and_conditions_hold(sampler: str) -> None:
    for trial in carried_out(search(sampler), SAMPLERS[sampler]):
        params = trial.params
        assert ("trust" in params) is (params["kind"] == {"kind": "lars"})
        assert 0.01 <= params["rate"] <= 10.0
        assert params["momentum"] == round(params["momentum"], 2)
        assert params["layers"] in (1, 3, 5, 7, 9)
        assert params["decay"] >= 0.4


@pytest.mark.parametrize("sampler", ["tpe", "cma_es"])
def test_a_sampler_that_learns_comes_near_the_best(sampler: str) -> None:
    """A sampler that is told nothing draws one rate of a thousandth of its logarithms' range near the best."""
    past = carried_out(search(sampler, NUMBERS), 25)
    assert min(abs(trial.params["rate"] - 0.3) for trial in past) < 0.05
    later = sorted(abs(trial.params["rate"] - 0.3) for trial in past[12:])
    assert later[len(later) // 2] < 0.7


def test_a_trial_without_a_value_counts_as_the_worst() -> None:
    spec = search("tpe", NUMBERS)
    points = [{"rate": 0.1, "momentum": 0.9}, {"rate": 1.0, "momentum": 0.8}, {"rate": 2.0, "momentum": 0.7}]
    past = [PastTrial(point, Outcome.ENDED, value) for point, value in zip(points, (0.5, None, 3.0), strict=True)]
    from optuna.samplers import RandomSampler

    study = study_of(spec, past, RandomSampler(), prunes=True)
    assert [trial.value for trial in study.trials] == [0.5, 3.0, 3.0]


def test_a_space_of_few_points_is_tried_once_each() -> None:
    space = {"a": {"kind": "choice", "values": [1, 2, 3]}, "b": {"kind": "integer", "low": 0, "high": 1}}
    for sampler in ("random", "tpe"):
        spec = search(sampler, space)
        past: list[PastTrial] = []
        while found := ask(spec, past, 4):
            past += [PastTrial(one.params, Outcome.ENDED, 1.0 * one.params["a"]) for one in found]
        assert len({json.dumps(trial.params) for trial in past}) == len(past) == 6


def test_a_grid_and_a_list_are_taken_in_their_order() -> None:
    space = {"a": {"kind": "choice", "values": [1, 2]}, "b": {"kind": "integer", "low": 0, "high": 1}}
    grid = search("random", space).model_copy(update={"sampler": GridSampler()})
    assert [one.params for one in ask(grid, [], 9)] == [{"a": a, "b": b} for a in (1, 2) for b in (0, 1)]
    points = ListSampler(points=[{"a": 2, "b": 0}, {"a": 1, "b": 1}])
    listed = search("random", space).model_copy(update={"sampler": points})
    assert [one.params for one in ask(listed, [PastTrial({"a": 2, "b": 0})], 9)] == [{"a": 1, "b": 1}]


@pytest.mark.parametrize("path", SPACE)
def test_what_was_drawn_is_found_again_from_the_value(path: str) -> None:
    spec = search("random")
    parameter = spec.space[path]
    for one in ask(spec, [], 20):
        if path in one.params:
            drawn = drawn_of(parameter, one.params[path])
            assert value_of(parameter, drawn) == pytest.approx(one.params[path]) if path != "kind" else True


def test_the_parameter_that_decides_is_the_most_important() -> None:
    spec = search("random", NUMBERS)
    trials = [(one.params, (one.params["rate"] - 0.3) ** 2) for one in ask(spec, [], 40)]
    found = importances(spec, trials)
    assert next(iter(found)) == "rate"
    assert found["rate"] > 0.8
    assert sum(found.values()) == pytest.approx(1.0)
    assert importances(spec, trials[:9]) == {}
