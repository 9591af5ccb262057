"""What of a checkpoint must be finite, and what need not be: each is broken alone."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from trainers.checkpoints.finite import first_not_finite, listed, not_finite
from trainers.training.finite_state import find_in_parts

OPTIMIZED = [("0.weight", (2, 2)), ("0.bias", (2,))]


def parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a shared part and a rank's part that are sound, with infinities where they may be."""
    optimizer = {"state": {0: {"v": torch.full((2, 2), math.inf), "losses": torch.full((5,), math.nan)}}}
    shared = {
        "parameters": {
            "model.0.weight": torch.ones(2, 2),
            "average.0.weight": torch.ones(2, 2),
            "model.frozen_mask": torch.tensor([0, -math.inf]),
            "average.frozen_mask": torch.tensor([0, -math.inf]),
        },
        "optimizer": optimizer,
        "preconditioner": {"steps": 3, "average": torch.ones(4), "decomposed": None},
    }
    buffers = {"model.1.running_mean": torch.zeros(2), "model.mask": torch.tensor([0, -math.inf])}
    own = {"buffers": buffers, "rule": {"mean_loss": math.nan, "center": {"tensors": {"c_N": torch.ones(4)}}}}
    return shared, own


def find(shared: dict[str, Any], own: dict[str, Any]) -> str | None:
    return find_in_parts(shared, own, statistics={"model.1.running_mean"}, frozen={"frozen_mask"}, optimized=OPTIMIZED)


def test_masks_and_marks_that_are_infinite_on_purpose_are_sound() -> None:
    assert find(*parts()) is None
    shared, own = parts()
    trained = {"parameters": shared["parameters"], "optimizer": shared.pop("optimizer")}
    assert find(shared, own | {"replica": trained}) is None
    assert find({"parameters": {}, "optimizer": {"own": [1, 2]}}, {}) is None


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("shared parameters model.0.weight", "the weights are not finite: 0.weight"),
        ("shared parameters average.0.weight", "the weights are not finite: 0.weight of the average"),
        ("own buffers model.1.running_mean", "the statistics of normalization are not finite: 1.running_mean"),
        ("own rule center tensors c_N", "the center is not finite: c_N"),
        ("shared preconditioner average", "the preconditioner's state is not finite: average"),
        ("shared optimizer state 0 v", "the optimizer's state is not finite: v of 0.weight"),
    ],
)
def test_each_part_of_a_state_that_breaks_a_run_is_named(place: str, expected: str) -> None:
    shared, own = parts()
    value: Any = {"shared": shared, "own": own}
    for key in place.split():
        value = value[int(key) if key.isdigit() else key]
    value.view(-1)[1] = math.nan
    assert find(shared, own) == expected


def test_a_replica_is_looked_at_beside_the_center() -> None:
    shared, own = parts()
    replica = {"parameters": {"model.0.weight": torch.tensor([math.inf])}, "optimizer": {"state": {}}}
    assert find(shared, own | {"replica": replica}) == "the weights of the replica are not finite: 0.weight"


def tensors_of_all_kinds() -> dict[str, Tensor]:
    return {
        "large": torch.full((9,), 3e38),
        "sparse": torch.eye(2).to_sparse(),
        "complex": torch.ones(2, dtype=torch.complex64).conj(),
        "float8": torch.ones(2).to(torch.float8_e4m3fn),
        "float16": torch.full((9,), 6e4, dtype=torch.float16),
        "counts": torch.ones(2, dtype=torch.int64),
        "none": torch.zeros(0),
        "meta": torch.ones(2, device="meta"),
    }


@pytest.mark.parametrize("name", ["large", "sparse", "complex", "float8", "float16"])
def test_tensors_of_all_kinds_are_looked_at_and_sums_that_exceed_the_range_are_no_error(name: str) -> None:
    tensors = tensors_of_all_kinds()
    assert not_finite(tensors) == []
    values = tensors[name].to_dense().to(torch.complex64 if name == "complex" else torch.float32)
    values.view(-1)[0] = math.nan
    tensors[name] = values.to_sparse() if name == "sparse" else values.to(tensors[name].dtype)
    assert not_finite(tensors) == not_finite(tensors, allows_infinity=True) == [name]


def test_names_are_listed_up_to_three() -> None:
    assert [listed(list("abcde"[:n])) for n in (1, 2, 3, 5)] == ["a", "a and b", "a, b and c", "a, b, c and 2 more"]


def test_the_first_sample_of_a_batch_that_is_not_finite_is_found() -> None:
    x_BC = torch.zeros(4, 2)
    assert first_not_finite(x_BC) is None
    x_BC[[2, 3], 1] = math.inf
    assert (first_not_finite(x_BC), first_not_finite(x_BC[:, 1]), first_not_finite(x_BC.long())) == (2, 2, None)
