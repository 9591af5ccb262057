"""The recipe of a volume in chunks, smaller, from POST to the numbers of its bodies."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from contract.yaml_reader import read_document
from tests.testing.servers import wait_for
from tests.testing.service import Service
from trainers.volume.stores.find import open_volume

pytestmark = pytest.mark.flow
RECIPE = Path(__file__).parents[2] / "recipes" / "volume.yaml"


def read_all(folder: Path) -> np.ndarray:
    volume = open_volume(folder)
    z, y, x = (slice(0, length) for length in volume.layout.shape)
    return volume.read((z, y, x))


def test_the_recipe_finds_the_bodies_of_a_volume_in_chunks(embedded: Service) -> None:
    recipe = read_document(RECIPE.read_bytes())
    volume, train, segment = (step["base"] for step in recipe["steps"])
    volume["command"] = volume["command"].replace("80 80 80", "40 40 40")
    train |= {"epochs": 3, "data": {**train["data"], "train_samples": 128}}
    segment |= {"steps": 17}
    first = embedded.post(json.dumps(recipe))[0]
    experiment = embedded.get(f"/runs/{first}")["experiment_id"]

    def has_ended() -> bool:
        return embedded.get(f"/experiments/{experiment}")["state"] in ("done", "failed")

    wait_for("the end of the workflow", has_ended, 400)
    runs = sorted(embedded.get(f"/experiments/{experiment}/runs")["items"], key=lambda run: run["id"])
    assert [run["state"] for run in runs] == ["done"] * 3, [embedded.story(run["id"]) for run in runs]
    made, _, done = runs

    em, out = (Path(embedded.get(f"/runs/{run['id']}")["folder"]) for run in (made, done))
    probability, inside = read_all(out / "probabilities")[1], read_all(em / "data" / "inside")[0]
    assert ((probability >= 0.5) == inside).mean() > 0.9
    assert read_all(out / "bodies").max() == ndimage.label(probability >= 0.5)[1]
    chunks = embedded.get(f"/runs/{done['id']}/chunks")
    assert (chunks["counts"], chunks["states"]) == ([2, 2, 2], "d" * 8)
    found = embedded.get(f"/runs/{done['id']}/points", name="chunks")["series"]["chunks"]
    assert (found["steps"][-1], found["values"][-1]) == (17, 8)
    named = {one["name"] for one in embedded.get(f"/runs/{done['id']}/artifacts")["items"]}
    assert {"bodies", "probabilities"} <= named
