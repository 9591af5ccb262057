"""The recipes of tensor parallelism and of K-FAC, in reduced size, from POST to the end of every run."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.metric_names import FACTORS_S, INVERSES_S
from contract.yaml_reader import read_document
from tests.testing.service import Service

pytestmark = pytest.mark.flow
RECIPES = Path(__file__).parents[2] / "recipes"
END_S = 600.0


def carried_out(
    service: Service, name: str, *, axes: dict[str, Any] | None = None, **base: Any
) -> list[dict[str, Any]]:
    """POST a recipe with a smaller base; return its runs after their end, each with its series."""
    recipe = read_document((RECIPES / f"{name}.yaml").read_bytes())
    data = recipe["base"]["data"] | base.pop("data")
    recipe["base"] |= {**base, "data": data}
    if axes is not None:
        recipe["axes"] = axes
    found = []
    for run_id in service.post(json.dumps(recipe)):
        run = service.wait_for_end(run_id, END_S)
        assert run["state"] == "done", service.story(run_id)
        found.append({**run, "series": service.get(f"/runs/{run_id}/points")["series"]})
    return found


def test_the_recipe_of_tensor_parallelism_has_the_losses_of_one_rank_on_every_mesh(embedded: Service) -> None:
    runs = carried_out(embedded, "tensor-parallelism", data={"train_samples": 256, "heldout_samples": 64}, epochs=1)
    meshes = [run["spec"]["tensor"] and run["spec"]["tensor"]["kind"] for run in runs]
    assert meshes == [None, "one_d", "two_d", "three_d"]
    dense = runs[0]["series"]
    assert dense["loss"]["steps"] == list(range(1, 9))
    for run in runs:
        for name in ("loss", "heldout_loss"):
            assert run["series"][name]["steps"] == dense[name]["steps"], (run["spec"]["tensor"], name)
            assert run["series"][name]["values"] == pytest.approx(dense[name]["values"], rel=1e-3)
        communication = run["series"]["communication_s"]["values"]
        assert all((seconds > 0) == (run["spec"]["tensor"] is not None) for seconds in communication)


def test_the_recipe_of_k_fac_trains_with_it_and_without_it(embedded: Service) -> None:
    data = {"train_samples": 256, "heldout_samples": 64}
    sgd, kfac = carried_out(embedded, "kfac", data=data, batch=32, epochs=2, axes={"seed": [1]})
    assert sgd["spec"]["preconditioner"] is None
    assert kfac["spec"]["preconditioner"]["kind"] == "kfac"
    losses = [run["series"]["loss"] for run in (sgd, kfac)]
    assert [loss["steps"] for loss in losses] == [list(range(1, 2 * 8 + 1))] * 2
    with_sgd, with_kfac = (loss["values"] for loss in losses)
    assert with_kfac[:2] == pytest.approx(with_sgd[:2], rel=1e-4)  # the first step has the rate 0
    assert all(abs(one - other) > 1e-3 for one, other in zip(with_sgd[3:], with_kfac[3:], strict=True))
    assert [run["series"]["heldout_accuracy"]["steps"] for run in (sgd, kfac)] == [[8, 16]] * 2
    assert all(seconds > 0 for seconds in kfac["series"][FACTORS_S]["values"])
    inverses = kfac["series"][INVERSES_S]["values"]
    assert [seconds > 0 for seconds in inverses] == [index % 4 == 0 for index in range(16)], "one update in four"
    assert FACTORS_S not in sgd["series"]
