"""The sentence about several methods compares them at equal places of the axis alone."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from study.answer.answer import Choice
from tests.testing.answers import experiment, find_answer, runs_of

pytestmark = pytest.mark.ring("quick")

BATCHES = [64, 128, 256, 512, 1024]
KINDS = ("sgd", "lars", "lamb")
SCHEDULE = {"kind": "constant", "rate": 0.1}


def sentence_of(
    curves: dict[str, Sequence[float | None]],
    *,
    batches: Sequence[int] = BATCHES,
    seeds: int = 2,
    spread: float = 0.001,
) -> str:
    """Return the sentence; each figure is the mean of seeds that differ by twice `spread`."""
    axes: dict[str, list[Any]] = {"optimizer": [{"kind": kind} for kind in curves], "batch": list(batches)}
    if seeds > 1:
        axes["seed"] = list(range(seeds))
    spec = experiment(axes, schedule=SCHEDULE)
    shifts = [spread * (-1) ** seed for seed in range(seeds)] if seeds > 1 else [0.0]
    accuracies = [
        None if mean is None else mean + shift for curve in curves.values() for mean in curve for shift in shifts
    ]
    return find_answer(spec, runs_of(spec, *accuracies), {}, Choice()).sentence


def test_the_order_of_two_methods_is_told_at_equal_batches_with_the_place_where_it_turns() -> None:
    assert sentence_of({"sgd": [0.9889, 0.985, 0.98, 0.93, 0.82], "lars": [0.97, 0.975, 0.98, 0.96, 0.90]}) == (
        "By the best held-out accuracy, sgd is ahead up to batch 128 (98.89 % against 97.00 % at batch 64), "
        "sgd and lars are a tie at batch 256 (98.00 % against 98.00 %), "
        "lars is ahead from batch 512 on (90.00 % against 82.00 % at batch 1024); "
        "means over seed, a lead is more than the deviation of both."
    )


def test_a_method_that_is_ahead_everywhere_is_told_once() -> None:
    text = sentence_of({"sgd": [0.9, 0.8], "lars": [0.95, 0.9]}, batches=[64, 128])
    assert text.startswith(
        "By the best held-out accuracy, "
        "lars is ahead at each batch from 64 to 128 (90.00 % against 80.00 % at batch 128);"
    )


def test_a_lead_within_the_deviation_of_both_is_a_tie() -> None:
    text = sentence_of({"sgd": [0.9, 0.8], "lars": [0.901, 0.801]}, batches=[64, 128], spread=0.01)
    assert "sgd and lars are a tie at each batch from 64 to 128 (80.00 % against 80.10 % at batch 128)" in text


def test_the_known_deviation_counts_for_both_where_the_other_setting_has_one_run() -> None:
    axes: dict[str, list[Any]] = {"optimizer": [{"kind": "sgd"}, {"kind": "lars"}], "batch": [64, 128], "seed": [0, 1]}
    spec = experiment(axes, schedule=SCHEDULE)
    # the deviation of sgd at batch 64 is 0.014, of both 0.02
    answer = find_answer(spec, runs_of(spec, 0.91, 0.89, 0.8, 0.8, 0.915, None, 0.85, 0.85), {}, Choice())
    assert answer.sentence == (
        "By the best held-out accuracy, sgd and lars are a tie at batch 64 (90.00 % against 91.50 %), "
        "lars is ahead at batch 128 (85.00 % against 80.00 %); "
        "means over seed; some settings have one run, so their spread is unknown."
    )


def test_of_three_methods_each_is_told_from_where_it_falls_behind() -> None:
    text = sentence_of(
        {"sgd": [0.98, 0.95, 0.9], "lars": [0.97, 0.96, 0.95], "lamb": [0.98, 0.96, 0.8]}, batches=BATCHES[:3]
    )
    assert text.startswith(
        "By the best held-out accuracy, sgd and lamb are a tie at batch 64 (98.00 % against 98.00 % with lamb), "
        "lars and lamb are a tie at batch 128 (96.00 % against 96.00 % with lamb), "
        "lars is ahead at batch 256 (95.00 % against 90.00 % with sgd); "
        "sgd falls behind from batch 128 on; lamb falls behind at batch 256;"
    )


def test_methods_are_compared_only_where_both_have_runs() -> None:
    text = sentence_of({"sgd": [0.99, 0.9, None], "lars": [None, 0.95, 0.97]}, batches=BATCHES[:3], seeds=1)
    assert text == (
        "By the best held-out accuracy, lars is ahead at batch 128 (95.00 % against 90.00 %); "
        "sgd has no figure at batch 256; lars has no figure at batch 64; "
        "each setting has one run, so the spread is unknown."
    )


def test_without_a_common_place_nothing_is_comparable() -> None:
    assert sentence_of({"sgd": [0.99, None], "lars": [None, 0.95]}, batches=[64, 128], seeds=1) == (
        "By the best held-out accuracy nothing is comparable: no batch has a figure of both sgd and lars."
    )


def test_methods_that_have_their_own_rate_at_each_batch_are_lines_over_the_batch() -> None:
    variants = [
        {"optimizer": {"kind": kind, "momentum": 0.9}, "schedule.rate": rate * batch, "batch": batch}
        for kind, rate in (("sgd", 0.001), ("lars", 0.02))
        for batch in (64, 128)
    ]
    spec = experiment(variants=variants, schedule=SCHEDULE)
    answer = find_answer(spec, runs_of(spec, 0.9, 0.8, 0.85, 0.88), {}, Choice())
    assert [(group.label, group.x) for group in answer.groups] == [
        ("sgd", 64),
        ("sgd", 128),
        ("lars", 64),
        ("lars", 128),
    ]
    assert "sgd is ahead at batch 64 (90.00 % against 85.00 %), lars is ahead at batch 128" in answer.sentence


def test_of_maps_the_best_of_each_column_is_compared() -> None:
    axes: dict[str, list[Any]] = {
        "optimizer": [{"kind": "sgd"}, {"kind": "lars"}],
        "schedule.rate": [0.1, 1.0],
        "batch": [64, 128],
    }
    spec = experiment(axes, schedule=SCHEDULE)
    answer = find_answer(spec, runs_of(spec, 0.9, 0.8, 0.5, 0.7, 0.3, 0.4, 0.85, 0.88), {}, Choice())
    assert answer.sentence == (
        "By the best held-out accuracy, sgd is ahead at batch 64 (90.00 % against 85.00 %), "
        "lars is ahead at batch 128 (88.00 % against 80.00 %), each at its best rate; "
        "each setting has one run, so the spread is unknown."
    )


@pytest.mark.parametrize("seed", range(20))
def test_figures_beside_each_other_are_always_of_one_place(seed: int) -> None:
    random = Random(seed)
    kinds = KINDS[: random.choice([2, 3])]
    curves = {kind: [random.choice([None, round(random.uniform(0.1, 0.9), 3)]) for _ in BATCHES] for kind in kinds}
    text = sentence_of(curves, seeds=1)
    columns = [[curves[kind][at] for kind in kinds] for at in range(len(BATCHES))]
    for first, second in re.findall(r"([\d.]+) % against ([\d.]+) %", text):
        pair = {round(float(one) / 100, 4) for one in (first, second)}
        assert any(pair <= set(column) for column in columns)
    comparable = any(sum(value is not None for value in column) > 1 for column in columns)
    assert (" against " in text) == comparable
