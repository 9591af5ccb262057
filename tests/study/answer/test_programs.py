"""What the answer says of a user's own program: its metrics, their direction, and that there are none."""

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from contract.api.answer import Answer, FigureUnit
from contract.api.responses import RunView
from contract.lifecycle.state import State
from contract.metric_direction import key_metric
from contract.spec.expanded import expand
from contract.spec.experiment import ExperimentSpec
from study.answer.answer import Choice
from study.answer.measures import Measures
from tests.testing.answers import AT, a_run, experiment, find_answer

pytestmark = pytest.mark.ring("quick")

NO_CHOICE = Choice()
HOW_TO_LOG = (
    "No run has reported a metric: print one and name it with `--metric`, or log it with `import bigbatch` and "
    "`bigbatch.log(loss=...)`."
)


def program(values: list[Any], name: str = "lr") -> ExperimentSpec:
    base = {"kind": "program", "command": "python train.py"}
    return ExperimentSpec.model_validate({"name": "p", "base": base, "axes": {f"parameters.{name}": values}})


def program_runs(spec: ExperimentSpec, *latest: Mapping[str, float | None], **changes: Any) -> list[RunView]:
    return [
        a_run(number, values, None, latest=newest, **changes)
        for number, ((values, _), newest) in enumerate(zip(expand(spec).points, latest, strict=True))
    ]


def answer_of(
    values: list[Any], *latest: Mapping[str, float | None], figure: str | None = None, **changes: Any
) -> Answer:
    """Return the answer over runs whose best values are their newest ones."""
    spec = program(values)
    return answer_over(spec, program_runs(spec, *latest, **changes), figure)


def answer_over(spec: ExperimentSpec, runs: list[RunView], figure: str | None = None) -> Answer:
    def best_values(name: str, _: bool) -> dict[int, float]:
        return {run.id: value for run in runs if (value := run.latest.get(name)) is not None}

    return find_answer(spec, runs, {}, Choice(figure), best_values=best_values)


@pytest.mark.parametrize("metric", ["val/iou", "psnr", "ssim", "r2", "recall", "precision", "top5", "mAP", "roc_auc"])
def test_figures_of_merit_are_best_at_their_highest(metric: str) -> None:
    answer = answer_of([0.1, 0.3], {metric: 0.61}, {metric: 0.93})
    last = f"The last {metric} is highest at lr 0.3: 0.93; 0.61 at lr 0.1."
    assert answer.figure
    assert (answer.figure.name, answer.figure.higher_is_better) == (f"best({metric})", True)
    assert answer.sentence == last.replace("last", "best")
    assert answer_of([0.1, 0.3], {metric: 0.61}, {metric: 0.93}, figure=metric).sentence == last


@pytest.mark.parametrize(
    ("logged", "figures"),
    [
        (["train/acc", "val/acc"], ["best(val/acc)", "val/acc", "best(train/acc)", "train/acc"]),
        (["loss", "val/loss"], ["best(val/loss)", "val/loss", "loss", "best(loss)"]),
        (["epoch", "trained_s", "reward"], ["best(reward)", "reward", "epoch", "trained_s"]),
        (["train/loss", "tokens_per_s", "grad_norm", "val/loss", "accuracy"], None),
        (
            ["loss", "heldout_loss", "heldout_accuracy"],
            ["best(heldout_accuracy)", "best(heldout_loss)", "heldout_loss", "loss", "best(loss)"],
        ),
    ],
)
def test_figures_have_the_order_of_lists_and_the_first_one_is_drawn(
    logged: list[str], figures: list[str] | None
) -> None:
    latest = dict.fromkeys(logged, 0.5)
    best = 0.5 if "heldout_accuracy" in logged else None
    answer = answer_of([0.1, 0.3], latest, latest, objective_value=best)
    found = [figure.name for figure in answer.figures]
    held_out, trained = ["best(val/loss)", "val/loss"], ["best(accuracy)", "accuracy", "train/loss", "best(train/loss)"]
    assert found == (figures or [*held_out, *trained, "tokens_per_s", "grad_norm"])
    assert answer.figure
    assert answer.figure.name == (found[0] if best else f"best({key_metric(logged)})")


def test_all_metrics_of_a_program_are_offered_and_may_be_asked_for() -> None:
    spec = program([0.1, 0.3])
    latest = {f"task{number}/acc": number / 100 for number in range(30)}
    answer = find_answer(spec, program_runs(spec, latest, latest), {}, Choice(figure="task29/acc"))
    assert len(answer.figures) == 60
    assert answer.groups[0].figure
    assert answer.groups[0].figure.mean == 0.29


def test_a_metric_without_a_direction_is_told_from_its_least_to_its_greatest_value() -> None:
    answer = answer_of([0.1, 0.2, 0.3], {"quux": 0.61}, {"quux": 0.93}, {"quux": 0.7})
    assert answer.figure
    assert answer.figure.higher_is_better is None
    assert answer.sentence == (
        "The last quux goes from 0.61 at lr 0.1 to 0.93 at lr 0.2; "
        "its name does not say whether higher or lower is better."
    )
    words = answer_of(["a", "b"], {"quux": 0.93}, {"quux": 0.61})
    assert words.sentence.startswith("The last quux goes from 0.61 with b to 0.93 with a;")


def test_the_goal_of_a_search_decides_about_its_metric() -> None:
    document = {
        "name": "s",
        "base": {"kind": "program", "command": "python train.py"},
        "search": {
            "space": {"parameters.lr": {"kind": "choice", "values": [0.1, 0.3]}},
            "sampler": {"kind": "grid"},
            "metric": "quux",
            "goal": "minimize",
        },
    }
    spec = ExperimentSpec.model_validate(document)
    runs = [
        a_run(number, {"parameters.lr": lr}, None, latest={"accuracy": 0.5, "quux": quux})
        for number, (lr, quux) in enumerate([(0.1, 3.0), (0.3, 2.0)])
    ]
    assert answer_over(spec, runs).sentence == "The best quux is lowest at lr 0.3: 2; 3 at lr 0.1."
    spec = ExperimentSpec.model_validate({**document, "search": {**document["search"], "value": "last"}})
    assert answer_over(spec, runs).sentence == "The last quux is lowest at lr 0.3: 2; 3 at lr 0.1."


def test_without_a_metric_the_answer_says_how_to_log_one_and_offers_times_without_choosing_them() -> None:
    spec = program([0.1, 0.3])
    runs = program_runs(spec, {}, {}, ended_at=AT + timedelta(minutes=1), ran_s=60.0)
    measures = {run.id: Measures(expand(spec).points[0][1], {"compute_s": 0.01}) for run in runs}
    answer = find_answer(spec, runs, measures, NO_CHOICE)
    assert (answer.figure, answer.sentence) == (None, HOW_TO_LOG)
    assert [figure.name for figure in answer.figures] == ["step_s", "run_s"]
    chosen = find_answer(spec, runs, measures, Choice(figure="run_s"))
    assert chosen.sentence.startswith("The running time is lowest at lr 0.1: 1 min")


def test_a_metric_that_is_no_number_in_all_runs_is_named() -> None:
    answer = answer_of([0.1, 0.3, 1.0], {"train/loss": None}, {"train/loss": None}, {"train/loss": None})
    assert answer.sentence == "All 3 runs diverged: train/loss is nan from step 20 on."
    partly = answer_of([0.1, 0.3, 1.0], {"acc": 0.5}, {"acc": None}, {"acc": 0.7})
    assert partly.sentence == "The best acc is highest at lr 1: 70.00 %; 50.00 % at lr 0.1."
    assert (partly.diverged, partly.notes) == (1, [])  # the number of diverged runs is shown


def test_runs_whose_loss_is_no_number_are_named_though_they_are_done() -> None:
    answer = answer_of(
        [0.1, 0.3], {"loss": None}, {"loss": None}, diverged={"metric": "loss", "step": 3, "value": "nan"}
    )
    assert (answer.diverged, answer.figure) == (2, None)
    assert answer.sentence == "All 2 runs diverged: loss is nan from step 3 on."


def test_runs_that_failed_for_gradients_that_are_not_finite_diverged_though_their_newest_loss_is_finite() -> None:
    spec = program([0.1, 0.3, 1.0])
    failed = program_runs(spec, *[{"loss": 2.5}] * 3, state=State.FAILED, diverged={"step": 7})
    assert find_answer(spec, failed, {}, NO_CHOICE).sentence == "All 3 runs diverged, the first one at step 7."
    waiting = [failed[0], *program_runs(spec, *[{}] * 3, state=State.QUEUED)[1:]]
    assert find_answer(spec, waiting, {}, NO_CHOICE).sentence == "1 of 3 runs diverged at step 7."


def test_an_answer_of_runs_that_are_not_done_promises_more_only_while_some_go_on() -> None:
    running = answer_of([0.1, 0.3], {"acc": 0.5}, {"acc": 0.9}, state=State.RUNNING)
    assert running.sentence.endswith("(so far: no run is done).")
    failed = answer_of([0.1, 0.3], {"acc": 0.5}, {"acc": 0.9}, state=State.FAILED)
    assert failed.sentence.endswith("(no run is done).")


def test_an_answer_of_which_all_runs_are_left_out_says_so() -> None:
    spec = program([0.1, 0.3])
    runs = program_runs(spec, {"loss": 1.0}, {"loss": 2.0}, left_out="the disk was full")
    assert find_answer(spec, runs, {}, NO_CHOICE).sentence == "All 2 runs are left out of the answer."
    assert find_answer(spec, runs[:1], {}, NO_CHOICE).sentence == "The only run is left out of the answer."


def test_ended_runs_do_not_promise_a_figure() -> None:
    runs = [a_run(0, {}, None, state=State.FAILED, latest={})]
    spec = experiment()
    assert find_answer(spec, runs, {}, NO_CHOICE).sentence == "No run has reported a figure: 1 of 1 failed."


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, "1", 2], ["1", '"1"', "2"]),
        ([True, "true", "on"], ["true", '"true"', '"on"']),
        ([None, "none"], ["null", '"none"']),
        ([0, False], ["0", "off"]),
        (["0.1234567", 0.1234567], ["0.1234567", "0.123457"]),
        ([[1, 2], "1, 2"], ["[1, 2]", '"1, 2"']),
    ],
)
def test_different_values_are_different_groups_with_different_texts(values: list[Any], texts: list[str]) -> None:
    answer = answer_of(values, *({"loss": float(number)} for number in range(len(values))))
    means = [group.figure.mean for group in answer.groups if group.figure]
    assert means == [float(number) for number in range(len(values))]
    assert [group.label for group in answer.groups] == texts


def test_numbers_of_an_axis_have_as_many_digits_as_tell_them_apart() -> None:
    answer = answer_of([0.1234567, 0.1234568], {"loss": 1.0}, {"loss": 2.0})
    assert answer.sentence == "The last training loss is lowest at lr 0.1234567: 1; 2 at lr 0.1234568."


def test_archived_runs_are_left_out_and_counted() -> None:
    spec = program([0.1, 0.3])
    runs = program_runs(spec, {"acc": 0.5}, {"acc": 0.9})
    runs[1] = runs[1].model_copy(update={"archived_at": AT})
    answer = find_answer(spec, runs, {}, NO_CHOICE)
    assert ([group.runs for group in answer.groups], answer.archived) == ([[1]], 1)
    runs = [run.model_copy(update={"archived_at": AT}) for run in runs]
    assert find_answer(spec, runs, {}, NO_CHOICE).archived == 0, "an archived experiment keeps its answer"


def test_a_run_that_a_person_left_out_counts_nowhere_and_its_reason_is_told() -> None:
    spec = program([0.1, 0.3])
    runs = program_runs(spec, {"acc": 0.5}, {"acc": 0.9})
    runs[1] = runs[1].model_copy(update={"left_out": "the disk was full"})
    answer = find_answer(spec, runs, {}, NO_CHOICE)
    assert [group.runs for group in answer.groups] == [[1]]
    assert [(one.run, one.reason) for one in answer.left_out] == [(2, "the disk was full")]
    assert "0.9" not in answer.sentence


def test_accuracies_in_percent_are_no_shares() -> None:
    spec = program([0.1, 0.3])
    runs = [run.model_copy(update={"objective_value": 90.0 + run.id}) for run in program_runs(spec, {}, {})]
    answer = find_answer(spec, runs, {}, NO_CHOICE)
    assert answer.figure
    assert (answer.figure.unit, answer.groups[0].accuracy, answer.target) == (FigureUnit.NUMBER, None, None)
    assert answer.sentence == "The best held-out accuracy is highest at lr 0.3: 92; 91 at lr 0.1."
    assert all(group.figure and math.isfinite(group.figure.mean) for group in answer.groups)
