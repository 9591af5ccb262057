"""What a page needs to write an experiment: recipes with their times, the schema, and the batch scripts."""

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.drafts import recipes, scripts
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import TO_RUNNING, current_job, move


@pytest.mark.ring("all")
def test_the_recipes_of_this_machine_come_first_and_each_is_a_spec_that_is_accepted(client: TestClient) -> None:
    found = client.get("/api/v1/recipes").json()
    assert found[0]["name"] == "first-run"
    assert (found[0]["runs"], found[0]["ranks"], found[0]["clusters"], found[0]["last"]) == (1, 4, ["local"], None)
    places = ["slurm" in recipe["clusters"] for recipe in found]
    assert places == sorted(places)
    assert any(places)
    for recipe in found:
        draft = client.post(
            "/api/v1/experiments?dry_run=true",
            content=recipe["text"],
            headers={"content-type": "application/yaml"},
        )
        assert draft.status_code == 200, draft.text
        # of a search the draft shows its first trial, and the gallery counts all trials
        shown = 1 if "\nsearch:" in recipe["text"] else recipe["runs"]
        assert len(draft.json()["runs"]) == shown


def test_a_recipe_shows_how_long_its_newest_experiment_took(client: TestClient, sqlite_engine: Engine) -> None:
    (recipe,) = [recipe for recipe in client.get("/api/v1/recipes").json() if recipe["name"] == "first-run"]
    answer = client.post(
        "/api/v1/experiments", content=recipe["text"], headers={"content-type": "application/yaml"}
    ).json()
    assert last_time(client) is None  # its run has not ended
    with transaction(sqlite_engine) as db:
        run = db.get_one(Run, answer["runs"][0])
        for state in (*TO_RUNNING, State.DONE):
            move(db, run, state)
        current_job(db, run).ran_s = 12.5
    assert last_time(client) == {"experiment_id": answer["id"], "seconds": pytest.approx(12.5)}
    post(client, SPEC)
    assert last_time(client) is not None


def last_time(client: TestClient) -> object:
    return next(recipe["last"] for recipe in client.get("/api/v1/recipes").json() if recipe["name"] == "first-run")


def test_a_folder_without_recipes_is_an_empty_list(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces a service that was installed without the folder."""
    monkeypatch.setattr(recipes, "RECIPES", recipes.RECIPES / "none")
    assert client.get("/api/v1/recipes").json() == []


def test_the_schema_has_every_field_with_its_description(client: TestClient) -> None:
    schema = client.get("/api/v1/schema").json()
    assert {"name", "base", "axes", "max_parallel"} <= schema["properties"].keys()
    described = [field for field in schema["$defs"]["RunSpec"]["properties"].values() if "description" in field]
    assert len(described) == len(schema["$defs"]["RunSpec"]["properties"])


RESOURCES = "{kind: slurm, partition: gpu, nodes: 2, ranks_per_node: 4, minutes: 30}"
SLURM = SPEC.replace("{kind: local, ranks_per_node: 4}", RESOURCES) + "axes: {seed: [1, 2]}\n"


def ask(client: TestClient, text: str) -> httpx2.Response:
    return client.post("/api/v1/scripts", content=text, headers={"content-type": "application/yaml"})


@pytest.mark.ring("all")
def test_the_scripts_are_those_of_a_dry_run_and_nothing_is_stored(client: TestClient) -> None:
    answer = ask(client, SLURM)
    assert answer.status_code == 200, answer.text
    text = answer.json()["text"]
    assert text.startswith("lars against sgd: 2 runs")
    assert "#SBATCH --partition=gpu" in text
    assert "#SBATCH --nodes=2" in text
    assert client.get("/api/v1/experiments").json()["items"] == []


def test_a_wrong_spec_has_no_scripts_and_names_its_field(client: TestClient) -> None:
    answer = ask(client, SLURM.replace("batch: 64", "batch: -1"))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "base.batch"


@pytest.mark.ring("all")
def test_one_process_writes_scripts_at_a_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces a second request while the first one writes."""
    monkeypatch.setattr(scripts, "WAIT_S", 0.05)
    with scripts._one:
        answer = ask(client, SLURM)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert ask(client, SLURM).status_code == 200
