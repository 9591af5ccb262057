"""What an answer counts, compares and refuses, and the sentence that it says."""

import pytest

from contract.api.answer import Answer, Picture
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.state import State
from contract.spec.expanded import expand
from study.answer.answer import Choice
from study.answer.speed import common_target
from study.trial import Mark, Trial
from tests.testing.answers import a_run, experiment, find_answer, measures_of, runs_of

pytestmark = pytest.mark.ring("quick")

SEEDS = experiment({"batch": [64, 128], "seed": [0, 1, 2]})
COLLECTIVES = experiment({"collective": [{"kind": "native"}, {"kind": "ring"}]})
NO_CHOICE = Choice()


def test_means_are_taken_over_the_seeds_of_the_runs_that_are_done() -> None:
    runs = runs_of(SEEDS, 0.9, 0.92, 0.94, 0.8, 0.8, 0.8)
    runs[2] = runs[2].model_copy(update={"state": State.RUNNING})
    answer = find_answer(SEEDS, runs, {}, NO_CHOICE)
    assert answer.picture is Picture.LINES
    first = answer.groups[0]
    assert first.figure
    assert first.figure.mean == pytest.approx(0.91)
    assert first.figure.deviation == pytest.approx(0.01 * 2**0.5)
    assert (first.figure.count, first.done, first.runs, answer.unfinished) == (2, 2, [1, 2, 3], 1)
    assert answer.sentence == (
        "The best held-out accuracy is highest at batch 64: 91.00 % ± 1.41; 80.00 % at batch 128; means over seed."
    )


def test_a_diverged_run_is_counted_and_left_out_of_means() -> None:
    runs = runs_of(SEEDS, 0.9, 0.9, 0.1, 0.8, 0.8, 0.8)
    runs[2] = runs[2].model_copy(update={"state": State.FAILED, "diverged": Diverged(step=3)})
    answer = find_answer(SEEDS, runs, {}, NO_CHOICE)
    assert answer.groups[0].figure
    assert answer.groups[0].figure.mean == pytest.approx(0.9)
    assert (answer.groups[0].diverged, answer.diverged, answer.failed) == (1, 1, 0)


def test_a_run_that_is_done_may_have_diverged_and_another_failure_has_not() -> None:
    runs = runs_of(SEEDS, *[0.9] * 6)
    runs[0] = runs[0].model_copy(update={"diverged": Diverged(metric="val/loss", step=3, value="nan")})
    runs[1] = runs[1].model_copy(update={"state": State.FAILED, "reason": "rank 1 on a: CUDA out of memory"})
    answer = find_answer(SEEDS, runs, {}, NO_CHOICE)
    assert (answer.diverged, answer.failed) == (1, 1)


def test_figures_of_runs_that_still_train_are_preliminary() -> None:
    answer = find_answer(SEEDS, runs_of(SEEDS, 0.5, 0.5, 0.5, state=State.RUNNING), {}, NO_CHOICE)
    assert [group.is_preliminary for group in answer.groups] == [True, True]
    assert answer.sentence.endswith("(so far: no run is done).")


def test_without_a_figure_the_sentence_says_so() -> None:
    runs = [a_run(0, {}, None, state=State.QUEUED, latest={})]
    answer = find_answer(experiment(), runs, {}, NO_CHOICE)
    assert (answer.figure, answer.sentence) == (None, "No run has reported a figure yet.")


def test_collectives_are_compared_by_their_steps_and_by_their_speed_to_one_accuracy() -> None:
    measures = measures_of(COLLECTIVES, 8.0, 4.0, compute_s=0.01, communication_s=0.002)
    answer = find_answer(COLLECTIVES, runs_of(COLLECTIVES, 0.9, 0.9), measures, NO_CHOICE)
    assert answer.picture is Picture.BARS
    assert answer.figure
    assert (answer.figure.name, answer.target, answer.baseline) == ("step_s", 0.9, 0)
    native, ring = answer.groups
    assert native.parts == {"compute_s": 0.01, "communication_s": 0.002}
    assert (native.speedup, ring.speedup, ring.refusals) == (None, 2.0, [])
    assert ring.to_target
    assert ring.to_target.mean == 4.0
    assert "there is one run of each: repeat both with other seeds before you rely on the speed-up" in answer.notes


def test_a_speedup_over_another_baseline_is_its_inverse() -> None:
    measures = measures_of(COLLECTIVES, 8.0, 4.0)
    answer = find_answer(COLLECTIVES, runs_of(COLLECTIVES, 0.9, 0.9), measures, Choice(baseline=1))
    assert [group.speedup for group in answer.groups] == [0.5, None]


def test_a_target_that_a_run_missed_is_refused_with_its_figures() -> None:
    measures = measures_of(COLLECTIVES, 8.0, 4.0)
    answer = find_answer(COLLECTIVES, runs_of(COLLECTIVES, 0.9, 0.9), measures, Choice(target=0.95))
    assert [group.to_target for group in answer.groups] == [None, None]
    assert answer.groups[1].speedup is None
    assert "run 2 never reached an accuracy of 95.00 %: its best is 90.00 %" in answer.groups[1].refusals


def test_runs_that_solve_different_problems_get_no_speedup() -> None:
    spec = experiment({"model": [{"kind": "convnet", "width": 8}, {"kind": "convnet", "width": 16}]})
    answer = find_answer(spec, runs_of(spec, 0.9, 0.9), measures_of(spec, 8.0, 4.0), NO_CHOICE)
    assert answer.groups[1].speedup is None
    assert answer.groups[1].refusals == ["the runs solve different problems: model.width is 8 in run 1, 16 in run 2"]


def test_each_seed_is_compared_with_the_same_seed_of_the_baseline() -> None:
    spec = experiment({"batch": [64, 128], "seed": [0, 1]})
    measures = measures_of(spec, 6.0, 10.0, 3.0, 5.0)
    answer = find_answer(spec, runs_of(spec, *[0.9] * 4), measures, NO_CHOICE)
    assert answer.groups[1].speedup == pytest.approx(2.0)
    assert not [note for note in answer.notes if "one run of each" in note]


@pytest.mark.parametrize(
    ("bests", "target"),
    [([0.98765, 0.97999], 0.9799), ([0.98, 0.5], None), ([], None), ([0.9219999999999999], 0.9219)],
)
def test_the_common_target_is_what_all_runs_reached_if_that_is_close_to_the_best(
    bests: list[float], target: float | None
) -> None:
    _, run = expand(experiment()).points[0]
    trials = [Trial("run 1", State.DONE, run, [Mark(1, 1.0, 1.0, best)]) for best in bests]
    assert common_target(trials) == (None if target is None else pytest.approx(target))
    assert all(best >= (common_target(trials) or 0) for best in bests)


def test_a_figure_that_no_run_has_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no run has the figure 'speed'; there are best\\(heldout_accuracy\\), loss"):
        find_answer(SEEDS, runs_of(SEEDS, 0.9), {}, Choice(figure="speed"))
    with pytest.raises(ValueError, match="no group 2: the picture has 2"):
        find_answer(SEEDS, runs_of(SEEDS, 0.9), {}, Choice(baseline=2))


def test_an_optimizer_whose_lead_is_noise_is_named_with_that() -> None:
    spec = experiment(
        {"optimizer": [{"kind": "sgd"}, {"kind": "lars"}, {"kind": "lamb"}], "seed": [0, 1]},
        schedule={"kind": "constant", "rate": 0.1},
    )
    answer: Answer = find_answer(spec, runs_of(spec, 0.90, 0.92, 0.91, 0.93, 0.50, 0.50), {}, NO_CHOICE)
    assert answer.sentence == (
        "The best held-out accuracy is highest with lars, 92.00 % ± 1.41 (its lead over sgd is within one deviation), "
        "and lowest with lamb, 50.00 % ± 0.00; means over seed."
    )
