"""Tests of the limits on what a spec may cost to check and to store; each input took minutes or gigabytes before."""

import time
from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.batch_schedule import BatchSchedule, ScheduledBatch
from contract.spec.checks import stored_size
from contract.spec.checks.lr_schedule import check_lr_schedule
from contract.spec.choices.schedules import Polynomial
from contract.spec.expanded import read_experiment
from contract.spec.grid.grid import MAX_AXES
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.spec.run import RunSpec
from contract.validation import issues_of
from contract.yaml_reader import DocumentError, read_document

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 1,
}
GENEROUS_S = 5.0  # each of these takes milliseconds; before the limits, the smallest took more


def complaints(axes: dict[str, list[Any]], **base: Any) -> list[str]:
    """Return the issues of a spec that is refused, after at most GENEROUS_S of processor time."""
    started_s = time.thread_time()
    with pytest.raises(ValidationError) as refused:
        read_experiment({"name": "large", "base": {**BASE, **base}, "axes": axes})
    assert time.thread_time() - started_s < GENEROUS_S
    return [f"{issue.path}: {issue.message}" for issue in issues_of(refused.value)]


def test_more_axes_than_a_run_has_fields_are_refused() -> None:
    """Forces a comparison of each axis with each other axis: 60,000 axes fit into a body."""
    assert complaints({f"x{number}": [1] for number in range(60_000)}) == [
        f"axes: 60,000 axes are more than the limit of {MAX_AXES}"
    ]


def test_a_path_of_thousands_of_parts_is_refused() -> None:
    (complaint,) = complaints({".".join("a" * 5000): [1]})
    assert complaint.endswith("the path has 5,000 parts, more than the limit of 20")


def test_one_point_with_many_wrong_fields_gives_a_short_list() -> None:
    assert (
        len(complaints({"resources": [{"kind": "local"} | {f"x{number}": 1 for number in range(20_000)}]}, seed=1))
        <= MAX_ISSUES
    )


def test_the_stored_bytes_of_all_points_are_limited_and_the_largest_field_is_named() -> None:
    """Forces 300 copies of one large option of an imported net."""
    model = {"kind": "import", "function": "json:loads", "options": {"text": "x" * 900_000}}
    (complaint,) = complaints({"seed": list(range(300))}, model=model)
    path, message = complaint.split(": ", 1)
    assert path == "base.model"
    one = int(message.split(" points x ")[1].split(" bytes")[0].replace(",", ""))
    assert 900_000 < one < 910_000
    assert f"300 points x {one:,} bytes = {300 * one:,} bytes" in message
    assert f"more than the limit of {stored_size.MAX_STORED_BYTES:,}" in message


def test_an_axis_of_large_values_is_limited_too() -> None:
    """Forces a product of two axes in which each value of the first is stored again for each value of the second."""
    model = {"kind": "import", "function": "json:loads"}
    values = ["x" * 100_000 + str(number) for number in range(9)]
    (complaint,) = complaints({"model.options.text": values, "seed": list(range(1000))}, model=model)
    assert complaint.startswith("axes.model.options.text: 9,000 points x ")


def test_ten_thousand_ordinary_points_are_within_the_limit() -> None:
    spec = {"name": "grid", "base": BASE, "axes": {"seed": list(range(10_000))}}
    points = read_experiment(spec).points
    assert len(points) == 10_000
    assert sum(len(run.model_dump_json()) for _, run in points) < stored_size.MAX_STORED_BYTES / 2


def test_passes_are_counted_without_a_list_of_all_passes() -> None:
    """Forces 2^31 - 1 passes of one sample, of which a list would need 17 GB."""
    huge = 2**31 - 1
    run = RunSpec.model_validate(
        {
            **BASE,
            "model": {"kind": "lenet"},
            "data": {"kind": "synthetic", "train_samples": huge},
            "batch": huge,
            "micro_batch": 1,
        }
    )
    assert run.steps == 1


def test_a_thousand_stages_are_the_limit() -> None:
    stages = [{"epoch": epoch, "batch": 64} for epoch in range(1, 1002)]
    (complaint,) = complaints({}, epochs=2000, batch_stages=stages)
    assert complaint.startswith("base.batch_stages: list should have at most 1000 items")


def test_the_lowest_peak_counts_stages_of_rate_and_batch() -> None:
    """With batches 8, 16, 32 from epochs 0, 2, 4 and rates 4, 1 from epochs 0, 3, the lowest peak is 1 x 16 / 8."""
    schedule = Polynomial.model_validate(
        {
            "rate": 4.0,
            "stages": [{"epoch": 3.0, "rate": 1.0}],
            "scaling": {"reference_batch": 8},
            "end_rate": 2.5,
        }
    )
    stages = (ScheduledBatch(0, 8), ScheduledBatch(2, 16), ScheduledBatch(4, 32))
    (issue,) = check_lr_schedule(schedule, BatchSchedule(samples=64, epochs=6, stages=stages))
    assert "above the peak of 2," in issue.message


@pytest.mark.parametrize(
    "text",
    ["a: " + "[" * 4000, "[a," * 1300, "!!seq [" * 600, "a:\n" + "\n".join(" " * n + "- " for n in range(1, 90))],
    ids=["brackets", "brackets after values", "tags", "indentation"],
)
def test_nesting_is_refused_before_the_text_is_scanned_to_its_end(text: str) -> None:
    """Forces a scanner whose work grows with levels x tokens: the error names the line of the first excess level."""
    with pytest.raises(DocumentError, match=r"line \d+: the document has more than 50 nested levels"):
        read_document(text)


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ({"schedule": {"kind": "constant", "rate": 1e300}}, "base.schedule.rate"),
        ({"schedule": {"kind": "constant", "rate": 1e-300}}, "base.schedule.rate"),
        ({"optimizer": {"kind": "sgd", "weight_decay": 1e39}}, "base.optimizer.weight_decay"),
        ({"optimizer": {"kind": "lars", "trust_coefficient": 1e300}}, "base.optimizer.trust_coefficient"),
        ({"clip_norm": 1e300}, "base.clip_norm"),
        ({"rule": {"kind": "easgd", "rho": 1e-320}}, "base.rule.rho"),
        ({"collective": {"kind": "ring", "timeout_s": 1e-9}}, "base.collective.timeout_s"),
    ],
)
def test_numbers_that_float32_or_a_clock_cannot_hold_are_refused(base: dict[str, Any], path: str) -> None:
    (complaint,) = complaints({}, **base)
    assert complaint.startswith(f"{path}: input should be ")
