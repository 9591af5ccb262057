"""Schedules compared with manual results, per epoch and per step."""

import math

import pytest

from contract.spec.run import RunSpec
from trainers.build.schedules import build_schedule
from trainers.schedules import Schedule, constant, cosine, polynomial, scale, staged, step, warmup

pytestmark = pytest.mark.ring("quick")


def test_polynomial_decay_matches_manual_results() -> None:
    rate = polynomial(constant(8.0), power=2.0, epochs=4)
    assert [rate(e) for e in range(5)] == pytest.approx([8, 4.5, 2, 0.5, 0])
    assert rate(6) == 0
    assert polynomial(constant(8.0), power=1.0, epochs=4)(1) == pytest.approx(6)


def test_a_shifted_polynomial_begins_at_its_peak_and_ends_at_its_end_rate() -> None:
    rate = polynomial(constant(9.0), power=2.0, epochs=6, begin=2, end_rate=1.0)
    assert [rate(e) for e in (2, 3, 4, 6, 7)] == pytest.approx([9, 1 + 8 * 0.75**2, 3, 1, 1])


def test_the_decay_after_a_linear_warmup_counts_epochs_from_the_start() -> None:
    peak = constant(10.0)
    rate = warmup(polynomial(peak, power=2.0, epochs=10), peak=peak, start_rate=1.0, epochs=3)
    # at e = W the authors' Caffe continues at g0 (1 - W/E)^2, not at g0
    assert [rate(e) for e in range(5)] == pytest.approx([1, 4, 7, 10 * 0.7**2, 10 * 0.6**2])


def test_a_quadratic_warmup_is_a_parabola() -> None:
    rate = warmup(constant(9.0), peak=constant(9.0), start_rate=1.0, epochs=4, power=2)
    assert [rate(e) for e in range(5)] == pytest.approx([1, 1.5, 3, 5.5, 9])


def test_warmup_of_part_of_an_epoch() -> None:
    rate = warmup(constant(4.0), peak=constant(4.0), start_rate=0.0, epochs=0.5)
    assert [rate(e / 5) for e in range(4)] == pytest.approx([0, 1.6, 3.2, 4])


def test_no_warmup_does_not_change_the_schedule() -> None:
    assert warmup(constant(3.0), peak=constant(3.0), start_rate=0.0, epochs=0)(0) == 3


def test_step_decay_changes_at_the_milestones() -> None:
    rate = step(constant(3.2), milestones=[30, 60, 80], factor=0.1)
    assert [rate(e) for e in (0, 29.99, 30, 60, 79.9, 80, 90)] == pytest.approx(
        [3.2, 3.2, 0.32, 0.032, 0.032, 0.0032, 0.0032]
    )


def test_cosine_decay_is_half_way_in_the_middle() -> None:
    rate = cosine(constant(5.0), epochs=9, begin=1, end_rate=1.0)
    assert [rate(e) for e in (0, 1, 3, 5, 9, 10)] == pytest.approx([5, 5, 3 + 2 * math.cos(math.pi / 4), 3, 1, 1])


def test_stages_change_the_peak_under_the_decay() -> None:
    """Mikami et al.'s second schedule is 29 (1 - e/90)^2 to epoch 30, then 50 (1 - e/90)^2."""
    rate = polynomial(staged([(0, 29.0), (30, 50.0)]), power=2.0, epochs=90)
    assert [rate(e) for e in (0, 29, 30, 60)] == pytest.approx([29, 29 * (61 / 90) ** 2, 50 * (2 / 3) ** 2, 50 / 9])


@pytest.mark.parametrize("stages", [[], [(1.0, 2.0)], [(0.0, 2.0), (3.0, 1.0), (3.0, 4.0)]])
def test_stages_out_of_order_are_refused(stages: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="start epochs must begin with 0"):
        staged(stages)


@pytest.mark.parametrize(("power", "rates"), [(1.0, [3.2, 6.4]), (0.5, [0.1 * 32**0.5, 0.8])])
def test_a_scaled_rate_follows_the_batch(power: float, rates: list[float]) -> None:
    """Goyal et al. use 0.1 for a batch of 256, so 3.2 for 8192; here the batch doubles at epoch 30."""
    rate = scale(constant(0.1), lambda e: 8192 if e < 30 else 16384, reference_batch=256, power=power)
    assert [rate(29), rate(30)] == pytest.approx(rates)


def of(choice: dict[str, object], *, batch: int = 143, epochs: int = 10) -> Schedule:
    """Return the schedule of a run with ten steps per epoch (digits: 1,437 images)."""
    optimizer = {"kind": "sgd"}
    spec = {"optimizer": optimizer, "schedule": choice, "batch": batch, "epochs": epochs}
    return build_schedule(RunSpec.model_validate(spec))


def test_the_mlperf_form_equals_its_reference_at_every_step() -> None:
    """With T = 100 and W = 20 steps the rate after the warm-up is (g0 - end) (1 - (t - W)/(T - W + 1))^2 + end."""
    choice = {"kind": "polynomial", "rate": 8.0, "warmup_epochs": 2.0, "end_rate": 1e-4, "decay_from": "warmup"}
    rate = of(choice)
    for t in range(100):
        wanted = 8.0 * t / 20 if t < 20 else (8.0 - 1e-4) * (1 - (t - 20) / 81) ** 2 + 1e-4
        assert rate(t / 10) == pytest.approx(wanted, rel=1e-12)


def test_the_caffe_form_counts_from_the_start() -> None:
    rate = of({"kind": "polynomial", "rate": 8.0, "warmup_epochs": 2.0, "warmup": "quadratic", "start_rate": 1.0})
    for t in range(100):
        wanted = 1 + 7 * (t / 20) ** 2 if t < 20 else 8.0 * (1 - t / 100) ** 2
        assert rate(t / 10) == pytest.approx(wanted, rel=1e-12)


def test_goyal_s_recipe_needs_one_rate_for_all_batches() -> None:
    choice = {"kind": "step", "rate": 0.1, "milestones": [6, 8], "warmup_epochs": 2, "start_rate": 0.1}
    choice |= {"scaling": {"reference_batch": 64}}
    # at 256 the warm-up rises from the reference rate to four times this rate; at 32 the peak is below the start
    assert [of(choice, batch=256)(e) for e in (0, 1, 2, 6, 9)] == pytest.approx([0.1, 0.25, 0.4, 0.04, 0.004])
    assert [of(choice, batch=32)(e) for e in (0, 1, 2, 6)] == pytest.approx([0.05, 0.05, 0.05, 0.005])


def test_every_schedule_of_a_spec_can_be_built() -> None:
    assert of({"kind": "constant", "rate": 2.0, "stages": [{"epoch": 5, "rate": 3.0}]})(7) == 3
    assert of({"kind": "cosine", "rate": 2.0, "end_rate": 1.0})(5) == pytest.approx(1.5)
    root = {"kind": "constant", "rate": 2.0, "scaling": {"reference_batch": 64, "rule": "sqrt"}}
    assert of(root, batch=256)(0) == pytest.approx(4)
