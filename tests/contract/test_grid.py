"""Tests of variants: fields that change together, alone and with axes."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.checks.stored_size import MAX_STORED_BYTES
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import MAX_AXES
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {
    "optimizer": {"kind": "sgd", "momentum": 0.5},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 1,
}
EACH_ITS_RATE = [
    {"optimizer": {"kind": "sgd"}, "schedule.rate": 0.1},
    {"optimizer": {"kind": "lars"}, "schedule.rate": 8.0},
]


def experiment(**fields: Any) -> Expanded:
    return read_experiment({"name": "x", "base": BASE, **fields})


def complaints(**fields: Any) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        experiment(**fields)
    return [f"{issue.path}: {issue.message}" for issue in issues_of(refused.value)]


def test_each_optimizer_has_its_rate_and_the_variants_vary_slowest() -> None:
    points = experiment(variants=EACH_ITS_RATE, axes={"batch": [64, 128], "seed": [0, 1]}).points
    assert [(run.optimizer.kind, run.schedule.rate, run.batch, run.seed) for _, run in points] == [
        (kind, rate, batch, seed)
        for kind, rate in (("sgd", 0.1), ("lars", 8.0))
        for batch in (64, 128)
        for seed in (0, 1)
    ]
    assert points[-1][0] == {"optimizer": {"kind": "lars"}, "schedule.rate": 8.0, "batch": 128, "seed": 1}


def test_variants_need_no_axes() -> None:
    assert [values["schedule.rate"] for values, _ in experiment(variants=EACH_ITS_RATE).points] == [0.1, 8.0]


def test_a_kind_that_varies_has_its_own_defaults_and_the_fields_that_the_base_writes() -> None:
    points = experiment(axes={"optimizer.kind": ["sgd", "lars"]}).points
    assert [run.optimizer.model_dump()["momentum"] for _, run in points] == [0.5, 0.5]
    assert [run.optimizer.model_dump()["weight_decay"] for _, run in points] == [0.0, 0.0005]


def test_a_field_that_the_other_kind_lacks_is_refused_where_the_base_writes_it() -> None:
    base = {**BASE, "optimizer": {"kind": "sgd", "nesterov": True}}
    (complaint,) = complaints(base=base, axes={"optimizer.kind": ["sgd", "lars"]})
    assert complaint == "base.optimizer.nesterov: unknown field (point 1: optimizer.kind=lars)"


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            {"variants": [{"batch": 64, "seed": 1}, {"batch": 8}]},
            "variants.1: 'seed' is missing: all variants set the same",
        ),
        ({"variants": [{"batch": 64}, {"batch": 8, "seed": 1}]}, "variants.1.seed: variants.0 does not set this field"),
        ({"variants": [{"batch": 64}, {"batch": 64}]}, "variants: a variant is listed twice"),
        ({"variants": [{}]}, "variants.0: dictionary should have at least 1 item"),
        ({"variants": [{"bach": 64}]}, "variants.0.bach: unknown field; did you mean 'batch'?"),
        ({"variants": [{"seed..x": 64}]}, "variants.0.seed..x: 'seed..x' is not a dotted path"),
        (
            {"variants": EACH_ITS_RATE, "axes": {"optimizer.momentum": [0.1]}},
            "variants.0.optimizer: the axis 'optimizer.momentum' also sets this field",
        ),
        (
            {"variants": EACH_ITS_RATE, "axes": {"schedule": [BASE["schedule"]]}},
            "variants.0.schedule.rate: the axis 'schedule' also sets this field",
        ),
        (
            {"variants": [{"schedule": BASE["schedule"], "schedule.rate": 1.0}]},
            "variants.0.schedule.rate: 'schedule' of the same variant also sets this field",
        ),
        (
            {"variants": [{"batch": 64}, {"batch": 1}], "axes": {"seed": [0, 1]}},
            "variants.1.batch: batch 1 over 1 ranks is 1 sample per rank",
        ),
        (
            {"variants": [{"optimizer": {"kind": "lars", "momentun": 1}}]},
            "variants.0.optimizer.momentun: unknown field",
        ),
    ],
)
def test_a_bad_variant_is_named_once(fields: dict[str, Any], complaint: str) -> None:
    (found,) = complaints(**fields)
    assert found.startswith(complaint)


def test_variants_and_axes_set_the_parameters_of_a_program() -> None:
    base = {"kind": "program", "command": "train {lr} {wd}", "parameters": {"lr": 0.1, "wd": 0.0}}
    variants = [{"parameters.lr": 0.1, "parameters.wd": 0.0}, {"parameters.lr": 1.0, "parameters.wd": 0.1}]
    points = experiment(base=base, variants=variants, axes={"parameters.seed": [0, 1]}).points
    assert [run.model_dump()["parameters"] for _, run in points] == [
        {"lr": lr, "wd": wd, "seed": seed} for lr, wd in ((0.1, 0.0), (1.0, 0.1)) for seed in (0, 1)
    ]
    assert complaints(base=base, axes={"lr": [0.1, 1.0]}) == ["axes.lr: unknown field; did you mean 'parameters.lr'?"]


def test_the_points_of_variants_times_axes_are_limited() -> None:
    (complaint,) = complaints(variants=[{"seed": seed} for seed in range(200)], axes={"batch": list(range(100))})
    assert complaint == "axes: the grid has 200 x 100 = 20,000 points, more than the limit of 10,000"


def test_a_variant_of_more_fields_than_a_run_has_is_refused() -> None:
    (complaint,) = complaints(variants=[{f"x{number}": 1 for number in range(60_000)}])
    assert complaint == f"variants: 60,000 axes are more than the limit of {MAX_AXES}"


def test_many_wrong_variants_give_a_short_list() -> None:
    assert len(complaints(variants=[{"batch": 64}, *({"seed": seed} for seed in range(5000))])) == MAX_ISSUES


def test_the_stored_bytes_of_variants_are_limited() -> None:
    """Forces a large value of a variant that each point of an axis stores again."""
    model = {"kind": "import", "function": "json:loads"}
    variants = [{"model.options.text": "x" * 100_000 + str(number)} for number in range(3)]
    (complaint,) = complaints(base={**BASE, "model": model}, variants=variants, axes={"seed": list(range(1000))})
    assert complaint.startswith("variants.0.model.options.text: 3,000 points x ")
    assert f"more than the limit of {MAX_STORED_BYTES:,}" in complaint


def test_a_stored_experiment_without_variants_is_read() -> None:
    stored = experiment(axes={"seed": [0, 1]}).spec.model_dump(mode="json")
    del stored["variants"]
    assert ExperimentSpec.from_stored(stored).variants == []


@pytest.mark.parametrize("values", [[0, False], [1, True], [1, "1", 2], [True, "true"], [None, "none"], [[0], [False]]])
def test_values_of_different_types_are_different_points(values: list[Any]) -> None:
    base = {"kind": "program", "command": "python train.py"}
    points = experiment(base=base, axes={"parameters.a": values}).points
    assert [point["parameters.a"] for point, _ in points] == values


def test_a_whole_number_written_with_a_fraction_is_the_same_value() -> None:
    (complaint,) = complaints(axes={"seed": [1, 1.0]})
    assert complaint == "axes.seed: 1.0 is listed twice"
