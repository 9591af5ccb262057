"""The objective of an experiment: what it may say, and which one counts where it says nothing."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.objective import ACCURACY, StoredObjective, objective_by_names, stored_objective
from contract.spec.expanded import read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.objective import Objective
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")
PROGRAM = {"kind": "program", "command": "python train.py"}
ENGINE = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 64, "epochs": 2}
SPACE = {"parameters.lr": {"kind": "log_uniform", "low": 0.1, "high": 1.0}}
BASE = {**PROGRAM, "parameters": {"lr": 0.1}}


def spec(base: dict[str, Any] = PROGRAM, **fields: Any) -> ExperimentSpec:
    return ExperimentSpec.model_validate({"name": "one", "base": base, **fields})


def search(**fields: Any) -> dict[str, Any]:
    return {"space": SPACE, "sampler": {"kind": "random"}, "trials": 3, **fields}


def issues(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        spec(**fields)
    return {issue.path: issue.message for issue in issues_of(refused.value)}


@pytest.mark.parametrize(
    ("objective", "goal"),
    [
        ({"metric": "val_loss"}, "min"),
        ({"metric": "val_acc"}, "max"),
        ({"metric": "val_loss", "goal": "max"}, "max"),
        ({"metric": "quux", "goal": "max"}, "max"),
    ],
)
def test_the_goal_is_that_of_the_spec_else_that_of_the_metrics_name(objective: dict[str, Any], goal: str) -> None:
    found = stored_objective(spec(objective=objective))
    assert found == StoredObjective(metric=objective["metric"], goal=goal)
    assert found.maximizes is (goal == "max")


def test_a_metric_whose_name_says_nothing_needs_a_goal() -> None:
    message = "the name 'quux' does not say whether higher or lower is better: write min or max"
    assert issues(objective={"metric": "quux"}) == {"objective.goal": message}


@pytest.mark.parametrize(
    ("objective", "path"),
    [
        ({"goal": "min"}, "objective.metric"),
        ({"metric": ""}, "objective.metric"),
        ({"metric": "loss", "goal": "lower"}, "objective.goal"),
        ({"metric": "loss", "value": "mean"}, "objective.value"),
        ({"metric": "loss", "direction": "min"}, "objective.direction"),
    ],
)
def test_a_wrong_objective_is_refused_with_the_field(objective: dict[str, Any], path: str) -> None:
    assert [*issues(objective=objective)] == [path]


def test_a_search_has_the_objective_of_its_experiment() -> None:
    one = spec(BASE, search=search(metric="val_loss", value="last"))
    assert stored_objective(one) == StoredObjective(metric="val_loss", goal="min", value="last")
    both = spec(BASE, search=search(metric="val_loss"), objective={"metric": "val_loss"})
    assert stored_objective(both) == StoredObjective(metric="val_loss", goal="min")


@pytest.mark.parametrize("objective", [{"metric": "val_acc"}, {"metric": "val_loss", "value": "last"}])
def test_another_objective_than_that_of_the_search_is_refused(objective: dict[str, Any]) -> None:
    found = issues(base=BASE, search=search(metric="val_loss"), objective=objective)
    assert [*found] == ["objective"]
    assert found["objective"].startswith("the search improves val_loss (min, best), and the objective is ")


def test_the_engine_has_the_best_held_out_accuracy_and_a_program_the_metric_that_tells_most() -> None:
    engine, program = stored_objective(spec(ENGINE)), stored_objective(spec())
    assert (engine, program) == (ACCURACY, None)
    assert objective_by_names(engine, []) == ACCURACY
    assert objective_by_names(engine, ["loss"]) == ACCURACY, "before the first evaluation"
    without = objective_by_names(engine, ["loss", "heldout_loss"])
    assert without == StoredObjective(metric="heldout_loss", is_default=True), "some nets have no accuracy"
    assert objective_by_names(program, []) is None
    assert objective_by_names(program, ["lr", "quux"]) is None
    found = objective_by_names(program, ["loss", "val_loss", "val_acc"])
    assert found == StoredObjective(metric="val_acc", is_default=True)


def test_a_chosen_objective_stays_whatever_the_runs_report() -> None:
    chosen = stored_objective(spec(objective={"metric": "heldout_accuracy"}))
    assert objective_by_names(chosen, ["heldout_loss", "val_acc"]) == chosen


def test_a_stored_spec_without_the_field_reads_as_before() -> None:
    stored = spec().model_dump(mode="json")
    stored.pop("objective")
    assert ExperimentSpec.from_stored(stored).objective is None
    kept = spec(objective={"metric": "val_loss"})
    assert ExperimentSpec.from_stored(kept.model_dump(mode="json")).objective == Objective(metric="val_loss")


def test_the_steps_of_a_workflow_have_its_objective_unless_they_say_another() -> None:
    train = {"name": "train", "base": BASE, "axes": {"parameters.lr": [0.1, 0.2]}}
    use = {"name": "use", "base": {**PROGRAM, "command": "run {steps.train.best.folder}"}}
    of_all = {"metric": "val_loss"}
    for fields, of_step in (({"objective": of_all}, {}), ({}, {"objective": of_all}), ({}, {"best_by": "quux"})):
        made = read_experiment({"name": "w", "steps": [{**train, **of_step}, use], **fields})
        assert made.spec.is_workflow
        wide = {**use, "axes": {"parameters.seed": [0, 1, 2]}}
        assert read_experiment({"name": "w", "steps": [{**train, **of_step}, wide], **fields}).example_run()
    with pytest.raises(ValidationError, match="set its objective"):
        read_experiment({"name": "w", "steps": [train, use]})


def test_a_workflow_has_the_only_objective_of_its_steps_and_each_step_its_own() -> None:
    steps = [{"name": "prepare", "base": PROGRAM}, {"name": "train", "base": PROGRAM, "best_by": "val_loss"}]
    made = ExperimentSpec.model_validate({"name": "w", "steps": steps})
    assert (found := stored_objective(made)) is not None
    assert (found.metric, found.goal, found.is_default) == ("val_loss", "min", False)
    assert made.of_step("train").objective == Objective(metric="val_loss", goal="min")
    assert made.of_step("prepare").objective is None
    both = [*steps, {"name": "more", "base": PROGRAM, "objective": {"metric": "val_acc"}}]
    assert stored_objective(ExperimentSpec.model_validate({"name": "w", "steps": both})) is None


def test_a_step_has_no_two_objectives() -> None:
    train = {"name": "train", "base": BASE, "best_by": "x", "objective": {"metric": "val_loss"}}
    with pytest.raises(ValidationError, match="either `best_by` or `objective`"):
        ExperimentSpec.model_validate({"name": "w", "steps": [train]})
