"""Searches on the whole service: the example of docs/sweeps.md, and a trial that goes on to the bit."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.spec.search.search import SearchSpec
from study.search.ask import ask
from tests.testing.servers import wait_for
from tests.testing.service import Service

pytestmark = pytest.mark.flow
DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"
SLOW = """
name: slow
base:
  model: {kind: import, function: "tests.testing.trainers.slow_net:net", options: {seconds: 0.05}}
  optimizer: {kind: lars}
  schedule: {kind: polynomial, rate: 8.0, warmup_epochs: 1.0}
  batch: 128
  epochs: 12
  resources: {kind: local}
"""
SEARCH = """
search:
  space: {schedule.rate: {kind: choice, values: [8.0]}}
  sampler: {kind: grid}
"""


def finished(service: Service, experiment_id: int) -> dict[str, Any]:
    def has_ended() -> bool:
        return bool(service.get(f"/experiments/{experiment_id}/search")["status"] == "ended")

    wait_for("the end of the search", has_ended, 300)
    found: dict[str, Any] = service.get(f"/experiments/{experiment_id}/search")
    return found


def newest(service: Service) -> int:
    return int(service.get("/experiments")["items"][0]["id"])


def example(trials: int, epochs: int) -> str:
    """The example of the documentation with fewer trials and epochs."""
    text = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)[0]
    for name, value in {"trials": trials, "epochs": epochs}.items():
        text, count = re.subn(rf"\b{name}: \d+", f"{name}: {value}", text)
        assert count == 1
    return text


def test_the_example_of_the_documentation(embedded: Service) -> None:
    embedded.post(example(trials=3, epochs=4))
    found = finished(embedded, newest(embedded))
    assert (found["end_cause"], len(found["trials"])) == ("trials", 3)
    assert found["best"]["value"] > 0.5
    assert embedded.get(f"/experiments/{found['experiment_id']}")["state"] == "done"


def test_a_trial_goes_on_to_the_bit_after_a_pause(embedded: Service) -> None:
    (plain,) = embedded.post(SLOW)
    embedded.post(SLOW + SEARCH)
    id_ = newest(embedded)
    path = f"/experiments/{id_}/search"
    wait_for("the trial", lambda: embedded.get(f"/experiments/{id_}/runs")["items"])
    run_id = embedded.get(f"/experiments/{id_}/runs")["items"][0]["id"]
    embedded.wait_until(run_id, step=5)
    embedded.ask("POST", f"{path}/pause").raise_for_status()
    wait_for("the stop", lambda: embedded.get(f"/runs/{run_id}")["state"] == "cancelled")
    wait_for("the pause", lambda: embedded.get(path)["counts"] == {"suspended": 1})
    assert embedded.get(f"/experiments/{id_}")["state"] == "queued"
    embedded.ask("POST", f"{path}/resume").raise_for_status()
    found = finished(embedded, id_)
    run = embedded.get(f"/runs/{run_id}")
    assert (found["counts"], run["attempt"], run["restarts"][0]["lost_steps"]) == ({"done": 1}, 2, 0)
    assert 5 <= run["restarts"][0]["step"] < run["steps"]
    embedded.wait_for_end(plain)
    for name in ("loss", "heldout_accuracy", "heldout_loss"):
        own, other = (embedded.get(f"/runs/{one}/points", name=name)["series"][name] for one in (run_id, plain))
        assert own == other


POPULATION = """
name: population
base:
  model: {kind: convnet, width: 4}
  optimizer: {kind: sgd, momentum: 0.9}
  schedule: {kind: constant, rate: 0.1}
  batch: 128
  epochs: 1
  checkpoint: {at_end: true}
  resources: {kind: local}
"""
MEMBERS = """
search:
  space: {schedule.rate: {kind: choice, values: [0.1, 0.000001]}}
  sampler: {kind: population, members: 2, share: 0.5, resample: 0.0, seed: SEED}
  metric: heldout_loss
  value: last
  trials: 4
  at_once: 1
"""


def test_a_member_of_a_population_begins_with_the_weights_that_it_copies_to_the_bit(embedded: Service) -> None:
    """Its whole curve is that of a plain run which a person starts with these weights and values."""
    seed = next(seed for seed in range(20) if _differ(seed))
    embedded.post(POPULATION + MEMBERS.replace("SEED", str(seed)))
    found = finished(embedded, newest(embedded))
    assert found["counts"] == {"done": 4}
    copy = next(trial for trial in found["trials"] if trial["lineage"]["copied"])
    parent = found["trials"][copy["lineage"]["parent"]]
    assert parent["lineage"]["member"] != copy["lineage"]["member"]
    first = next(one for one in found["trials"] if one["lineage"]["member"] == copy["lineage"]["member"])
    assert first["value"] > parent["value"]
    run = embedded.get(f"/runs/{copy['run_ids'][0]}")
    assert run["spec"]["initial_weights"]["run"] == parent["run_ids"][0]
    plain = {"seed": run["spec"]["seed"], "schedule.rate": copy["params"]["schedule.rate"]}
    axes = "\naxes: " + json.dumps({path: [value] for path, value in plain.items()})
    weights = f"  initial_weights: {{run: {parent['run_ids'][0]}}}\n"
    (with_weights,) = embedded.post(POPULATION + weights + axes)
    (without,) = embedded.post(POPULATION + axes)
    for one in (with_weights, without):
        embedded.wait_for_end(one)
    curves = [_curves(embedded, one) for one in (run["id"], with_weights, without)]
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def _differ(seed: int) -> bool:
    """Return whether the two members begin with different rates."""
    sampler = yaml.safe_load(MEMBERS.replace("SEED", str(seed)))["search"]
    asked = ask(SearchSpec.model_validate(sampler), [], 2)
    return asked[0].params != asked[1].params


def _curves(service: Service, run_id: int) -> list[Any]:
    names = ("loss", "heldout_accuracy", "heldout_loss")
    return [service.get(f"/runs/{run_id}/points", name=name)["series"][name] for name in names]


@pytest.mark.long
def test_each_result_counts_once_when_the_worker_is_killed_three_times(embedded: Service) -> None:
    """Forces the fault: kill -9 of the worker after each of the first three trials."""
    embedded.post(example(trials=8, epochs=9))
    id_ = newest(embedded)
    ended: dict[int, Any] = {}

    def has_ended(number: int) -> bool:
        return len(note_ends(embedded, id_, ended)) >= number

    for number in range(1, 4):
        wait_for(f"{number} ends", partial(has_ended, number), 300)
        embedded.kill("worker")
        embedded.start("worker")
    found = finished(embedded, id_)
    note_ends(embedded, id_, ended)
    assert (found["end_cause"], len(found["trials"]), len(ended)) == ("trials", 8, 8)
    runs = embedded.get(f"/experiments/{id_}/runs")["items"]
    assert len(runs) == 8
    assert all(run["state"] in ("done", "cancelled") for run in runs)


def note_ends(service: Service, experiment_id: int, ended: dict[int, Any]) -> dict[int, Any]:
    """Note the ended trials; the end and the value of each never change."""
    for trial in service.get(f"/experiments/{experiment_id}/search")["trials"]:
        if trial["ended_at"] is not None:
            end = (trial["ended_at"], trial["value"], trial["params"])
            assert ended.setdefault(trial["number"], end) == end
    return ended
