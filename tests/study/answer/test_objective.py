"""The answer of an experiment whose objective somebody has chosen."""

from typing import Any

import pytest

from contract.api.answer import Answer
from contract.objective import StoredObjective
from contract.spec.expanded import expand
from contract.spec.experiment import ExperimentSpec
from study.answer.answer import Choice
from tests.testing.answers import a_run, experiment, find_answer, measures_of, runs_of

pytestmark = pytest.mark.ring("quick")
LOSSES = {1: 0.20, 2: 0.22, 3: 0.40, 4: 0.44}  # of two rates with two seeds each
COLLECTIVES = {"collective": [{"kind": "native"}, {"kind": "ring"}]}


def answer_of(objective: dict[str, Any] | None) -> Answer:
    axes = {"parameters.lr": [0.1, 0.3], "parameters.seed": [0, 1]}
    base = {"kind": "program", "command": "python train.py"}
    spec = ExperimentSpec.model_validate({"name": "p", "base": base, "axes": axes, "objective": objective})
    latest = {"val_loss": 0.5, "val_acc": 0.75, "quux": 3.0}
    runs = [a_run(number, values, None, latest=latest) for number, (values, _) in enumerate(expand(spec).points)]

    def best_values(name: str, is_highest: bool) -> dict[int, float]:
        return (
            {} if name == "heldout_accuracy" else {one: -loss if is_highest else loss for one, loss in LOSSES.items()}
        )

    return find_answer(spec, runs, {}, Choice(), best_values=best_values)


@pytest.mark.parametrize(
    ("objective", "figure", "is_high"),
    [
        ({"metric": "val_loss", "goal": "min"}, "best(val_loss)", False),
        ({"metric": "val_loss", "goal": "max"}, "best(val_loss)", True),
        ({"metric": "quux", "goal": "max"}, "best(quux)", True),
        ({"metric": "quux", "goal": "min", "value": "last"}, "quux", False),
        (None, "best(val_acc)", True),
    ],
)
def test_the_figure_of_an_answer_is_the_objective(objective: dict[str, Any] | None, figure: str, is_high: bool) -> None:
    found = answer_of(objective).figure
    assert found
    assert (found.name, found.higher_is_better) == (figure, is_high)


def test_a_loss_is_compared_with_means_and_deviations_as_an_accuracy_is() -> None:
    answer = answer_of({"metric": "val_loss", "goal": "min"})
    assert [group.figure and (group.figure.count, round(group.figure.mean, 4)) for group in answer.groups] == [
        (2, 0.21),
        (2, 0.42),
    ]
    assert all(group.figure and group.figure.deviation for group in answer.groups)
    assert answer.sentence.startswith("The best val_loss is lowest at lr 0.1: 0.21")
    assert answer.over == "parameters.seed"


def test_a_chosen_objective_comes_before_times_and_the_default_does_not() -> None:
    default = experiment(COLLECTIVES)
    runs, measures = runs_of(default, 0.9, 0.9), measures_of(default, 8.0, 4.0, compute_s=1.0)
    found = find_answer(default, runs, measures, Choice()).figure
    assert found
    assert found.name == "step_s"
    chosen = StoredObjective(metric="heldout_accuracy", goal="max")
    found = find_answer(default, runs, measures, Choice(), objective=chosen).figure
    assert found
    assert found.name == "best(heldout_accuracy)"


def test_the_last_accuracy_is_a_figure_where_the_objective_is_it() -> None:
    spec = experiment({"seed": [0, 1]})
    last = StoredObjective(metric="heldout_accuracy", goal="max", value="last")
    latest = {"heldout_accuracy": 0.5}
    runs = [run.model_copy(update={"latest": latest}) for run in runs_of(spec, 0.9, 0.8)]
    answer = find_answer(spec, runs, {}, Choice(), objective=last)
    assert answer.figure
    assert (answer.figure.name, answer.groups[0].figure and answer.groups[0].figure.mean) == ("heldout_accuracy", 0.5)
