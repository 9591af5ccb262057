"""The axes of a picture: which are numeric, on which scale, and what their categories are called."""

from typing import Any

import pytest

from contract.api.answer import AxisScale
from study.answer.answer import Choice
from study.answer.axes import Axis, find_axes, scale_of
from study.answer.groups import lay_out
from study.answer.joined_axes import MOST_PLACES
from tests.testing.answers import experiment, find_answer, runs_of

pytestmark = pytest.mark.ring("quick")


def axes_of(**options: Any) -> list[Axis]:
    spec = experiment(**options)
    return find_axes(spec, runs_of(spec), "seed" if "seed" in spec.axes else None)


@pytest.mark.parametrize(
    ("path", "values", "scale"),
    [
        ("batch", [64, 128, 512], AxisScale.LOG2),
        ("batch", [60, 100, 300], AxisScale.LOG2),
        ("schedule.rate", [0.4, 0.8, 1.6], AxisScale.LOG2),
        ("schedule.rate", [2.0, 7.0, 20.0], AxisScale.LOG10),
        ("schedule.rate", [0.1, 0.15, 0.3], AxisScale.LINEAR),
        ("optimizer.momentum", [0.0, 0.5, 0.9], AxisScale.LINEAR),
    ],
)
def test_the_scale_of_an_axis_spreads_its_values(path: str, values: list[Any], scale: AxisScale) -> None:
    (axis,) = axes_of(axes={path: values})
    assert axis.numbers == values
    assert scale_of(axis) is scale


def test_the_seed_is_no_axis_and_an_axis_of_one_value_neither() -> None:
    found = axes_of(axes={"batch": [64], "seed": [0, 1], "schedule.rate": [0.1, 0.2]})
    assert [axis.name for axis in found] == ["rate"]


def test_switches_are_categories() -> None:
    (axis,) = axes_of(axes={"channels_last": [False, True]})
    assert axis.numbers is None
    assert list(axis.labels.values()) == ["off", "on"]


def test_variants_are_one_axis_named_by_the_fields_that_tell_them_apart() -> None:
    variants = [
        {"optimizer": {"kind": "sgd", "momentum": 0.0}, "schedule.rate": 0.2, "batch": 64},
        {"optimizer": {"kind": "sgd", "momentum": 0.0}, "schedule.rate": 0.02, "batch": 64},
        {"optimizer": {"kind": "lars"}, "schedule.rate": 7.0, "batch": 64},
    ]
    (axis,) = axes_of(variants=variants)
    assert list(axis.labels.values()) == ["sgd, rate 0.2", "sgd, rate 0.02", "lars"]
    assert axis.numbers is None


def test_variants_of_numbers_alone_are_a_numeric_axis_that_prefers_the_batch() -> None:
    (axis,) = axes_of(variants=[{"schedule.rate": 0.1 * k, "batch": 64 * k} for k in (1, 2, 4)])
    assert (axis.name, axis.numbers) == ("batch", [64, 128, 256])


def test_further_numeric_axes_name_the_maps_and_the_batch_lies_across() -> None:
    axes: dict[str, list[Any]] = {"schedule.rate": [0.1, 0.2], "optimizer.momentum": [0.8, 0.9], "batch": [64, 128]}
    layout = lay_out(axes_of(axes=axes))
    assert layout.x
    assert layout.y
    assert [layout.x.name, layout.y.name, layout.labels[0].name] == ["batch", "rate", "momentum"]
    spec = experiment(axes)
    assert layout.place_of(runs_of(spec)[-1]) == ("momentum 0.9", 128.0, 0.2)


def test_a_run_outside_the_grid_has_the_value_of_the_base_where_it_sets_none() -> None:
    spec = experiment({"batch": [64, 128]})
    runs = runs_of(spec)
    added = runs[0].model_copy(update={"values": {"schedule.rate": 0.5}})
    batch, rate = find_axes(spec, [*runs, added], None)
    assert (batch.number_of(added.values), rate.number_of(added.values)) == (64, 0.5)
    assert rate.numbers == [0.1, 0.5]


def test_neighbouring_values_of_a_long_axis_share_places() -> None:
    spec = experiment({"batch": [64, 128], "schedule.rate": [round(0.001 * n, 3) for n in range(1, 152)]})
    runs = runs_of(spec, *[0.5 + 0.001 * (number % 151) for number in range(302)])
    answer = find_answer(spec, runs, {}, Choice())
    assert answer.x is not None
    assert answer.y is not None
    assert answer.x.values == [64, 128]
    assert len(answer.y.values) == MOST_PLACES
    assert answer.y.values[:2] == [0.002, 0.005], "the middle of three values each"
    assert len(answer.groups) == 2 * MOST_PLACES
    assert sum(len(group.runs) for group in answer.groups) == 302
    first = answer.groups[0].figure
    assert first is not None
    assert (first.count, first.mean) == (3, pytest.approx(0.501))
    assert answer.notes == ["the 151 values of rate share 50 places, each with the mean of its runs"]


def test_an_axis_that_a_picture_can_show_is_left_as_it_is() -> None:
    spec = experiment({"schedule.rate": [round(0.001 * n, 3) for n in range(1, MOST_PLACES + 1)]})
    answer = find_answer(spec, runs_of(spec), {}, Choice())
    assert answer.x is not None
    assert len(answer.x.values) == MOST_PLACES
    assert answer.notes == []
