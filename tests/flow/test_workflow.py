"""A workflow from a POST to its end with local ranks: the example of docs/workflows.md."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from contract.yaml_reader import read_document
from tests.testing.servers import wait_for
from tests.testing.service import Service

pytestmark = pytest.mark.flow
PAGE = Path(__file__).parents[2] / "docs" / "workflows.md"
ENDS = {"done", "failed", "skipped", "cancelled"}


def example() -> str:
    """Return the one example of the page."""
    (found,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert read_document(found.encode())["steps"]
    return str(found)


def steps(service: Service, experiment_id: int) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in service.get(f"/experiments/{experiment_id}/steps")["steps"]}


def test_the_example_of_the_guide_goes_from_rates_to_a_report(embedded: Service) -> None:
    (first,) = embedded.post(example())
    experiment_id = embedded.get(f"/runs/{first}")["experiment_id"]

    def has_ended() -> bool:
        return all(one["state"] in ENDS for one in steps(embedded, experiment_id).values())

    wait_for("the end of the workflow", has_ended, 400)
    found = steps(embedded, experiment_id)
    assert {name: one["state"] for name, one in found.items()} == dict.fromkeys(found, "done"), json.dumps(found)
    runs = {name: embedded.get(f"/experiments/{experiment_id}/runs", step=name)["items"] for name in found}
    assert [run["values"] for run in runs["tune"]] == [{"schedule.rate": 0.02}, {"schedule.rate": 0.1}]
    best = max(runs["tune"], key=lambda run: run["objective_value"])
    specs = [embedded.get(f"/runs/{run['id']}")["spec"] for run in runs["train"]]
    assert [spec["schedule"]["rate"] for spec in specs] == [best["values"]["schedule.rate"]] * 2
    (report,) = runs["report"]
    log = embedded.ask("GET", f"/runs/{report['id']}/log").json()["text"]
    accuracies = [run["latest"]["heldout_accuracy"] for run in runs["train"]]
    assert f"accuracies {accuracies[0]} {accuracies[1]}, best checkpoint /" in log
    assert embedded.get(f"/experiments/{experiment_id}")["state"] == "done"
