"""The recipes of deduplication, smaller, from POST to the report that compares the trainings."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.yaml_reader import read_document
from tests.testing.servers import wait_for
from tests.testing.service import Service

pytestmark = pytest.mark.flow
RECIPES = Path(__file__).parents[2] / "recipes"


def carry_out(embedded: Service, recipe: dict[str, Any], *, runs: int) -> int:
    """Post a recipe, wait until its runs, so many, are done, and return the experiment."""
    first = embedded.post(json.dumps(recipe))[0]
    experiment: int = embedded.get(f"/runs/{first}")["experiment_id"]

    def has_ended() -> bool:
        return embedded.get(f"/experiments/{experiment}")["state"] in ("done", "failed")

    wait_for("the end of the workflow", has_ended, 1200)
    found = embedded.get(f"/experiments/{experiment}/runs")["items"]
    assert [run["state"] for run in found] == ["done"] * runs, [embedded.story(run["id"]) for run in found]
    return experiment


def test_the_recipe_trains_on_the_images_that_a_search_keeps_and_on_all(embedded: Service) -> None:
    recipe = read_document((RECIPES / "deduplication.yaml").read_bytes())
    images, _, reduced, every, report = recipe["steps"]
    images["base"]["command"] = images["base"]["command"].replace(
        "--train 2048 --heldout 512", "--train 400 --heldout 64"
    )
    for step in (reduced, every):
        step["axes"] = {"seed": [0]}
        step["base"] |= {"epochs": 2}
        step["base"]["data"] |= {"heldout_samples": 64}
    every["base"]["data"] |= {"train_samples": 400}
    report["base"]["command"] = report["base"]["command"].replace("2048", "400")
    experiment = carry_out(embedded, recipe, runs=5)
    names = ("dedup", "reduced", "all", "report")
    found = {name: embedded.get(f"/experiments/{experiment}/runs", step=name)["items"] for name in names}
    run_of = {name: embedded.get(f"/runs/{run['id']}") for name, (run,) in found.items()}
    folder_of = {name: Path(run["folder"]) for name, run in run_of.items()}
    kept = int((folder_of["dedup"] / "dedup" / "kept.txt").read_text())
    assert kept == pytest.approx(0.7 * 400, abs=8)
    searched = run_of["dedup"]
    assert searched["spec"]["command"] == "{job_python} -P -m trainers.data.dedup"
    assert searched["step"] == searched["latest"]["images"] == 400
    assert (searched["latest"]["kept"], searched["latest"]["left_out"]) == (kept, 400 - kept)
    left = embedded.get(f"/runs/{searched['id']}/artifacts")["items"]
    assert {one["name"]: one["path"] for one in left} == searched["spec"]["outputs"]
    assert run_of["reduced"]["spec"]["data"]["train_samples"] == kept
    assert run_of["all"]["spec"]["data"]["train_samples"] == 400
    _, _, of_all, of_reduced = (folder_of["report"] / "report.md").read_text().splitlines()
    assert of_all.startswith("| 400 | 0.")
    assert of_reduced.startswith(f"| {kept} | 0.")


def test_the_recipe_of_the_curve_trains_on_what_each_threshold_keeps(embedded: Service) -> None:
    recipe = read_document((RECIPES / "deduplication-curve.yaml").read_bytes())
    images, search, sections, train, _ = recipe["steps"]
    search["axes"] = {"dedup.threshold": [24, 80]}
    for step, text, smaller in (
        (images, "--train 2048 --heldout 512", "--train 400 --heldout 64"),
        (sections, "heldout_samples=512", "heldout_samples=64"),
        (sections, "{steps.images.outputs.images} 2048", "{steps.images.outputs.images} 400"),
    ):
        assert text in step["base"]["command"]
        step["base"]["command"] = step["base"]["command"].replace(text, smaller)
    train["base"] |= {"epochs": 2}
    train["axes"] = {"seed": [0]}
    experiment = carry_out(embedded, recipe, runs=8)
    found = embedded.get(f"/experiments/{experiment}/runs", step="search")["items"]
    searches = {run["values"]["dedup.threshold"]: embedded.get(f"/runs/{run['id']}")["folder"] for run in found}
    kept_24, kept_80 = (int((Path(searches[bits]) / "dedup" / "kept.txt").read_text()) for bits in (24, 80))
    assert kept_80 < kept_24 < 400
    found = embedded.get(f"/experiments/{experiment}/runs", step="report")["items"]
    report = Path(embedded.get(f"/runs/{found[0]['id']}")["folder"]) / "report.md"
    rows = report.read_text().splitlines()[2:]
    assert [row.split(" | ")[:2] for row in rows] == [["| none", "400"], ["| 24", str(kept_24)], ["| 80", str(kept_80)]]
    assert all(0 <= float(row.split(" | ")[3]) <= 1 for row in rows)
