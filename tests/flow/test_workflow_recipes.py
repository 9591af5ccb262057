"""Every recipe that is a workflow, from POST to its report on the lab: training on two hosts, programs here."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.yaml_reader import read_document
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.long]
RECIPES = Path(__file__).parents[2] / "recipes"
PATIENCE_S = 1200.0
# a recipe, and what its report says, if it has one
REPORTS: dict[str, tuple[str, ...]] = {
    "deduplication": ("| 2048 | 0.",),
    "volume": (),
    "workflow-all-reduce": ("| native |", "| torus |", "Trained with "),
    "workflow-easgd": ("| synchronous SGD |", "| Sync EASGD 3 |"),
    "workflow-large-batch": ("| SGD | 64 |", "| SGD | 512 |", "| LARS | 512 |"),
    "workflow-nightly": ("mean accuracy 0.9",),
    "workflow-rates": ("| rate | accuracy after 4 epochs |", "Best checkpoint: "),
}

ELSEWHERE = {"deduplication-curve"}  # 26 runs, which test_dedup_recipe.py carries out on this machine


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, lab: dict[str, str]) -> Iterator[Service]:
    setup = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1"
    # the Python of `{job_python}`, which volumes need
    settings = {**lab, "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": setup, "BIGBATCH_SLURM_PYTHON": sys.executable}
    with running(tmp_path_factory.mktemp("workflows"), settings) as service:
        yield service


def on_cluster(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step whose engine runs, and programs of several ranks, are jobs of Slurm with as many ranks."""
    base = step["base"]
    if base["resources"].get("ranks_per_node", 1) == 1:
        return step
    ranks = base["resources"]["ranks_per_node"]
    resources = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": ranks // 2, "minutes": 30}
    return {**step, "base": {**base, "resources": resources}}


def test_every_recipe_that_is_a_workflow_has_its_report_here() -> None:
    workflows = {path.stem for path in RECIPES.glob("*.yaml") if "steps" in read_document(path.read_bytes())}
    assert sorted(workflows - ELSEWHERE) == sorted(REPORTS)


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_recipe_comes_from_post_to_its_report(service: Service, name: str) -> None:
    recipe = read_document((RECIPES / f"{name}.yaml").read_bytes())
    (first, *_) = service.post(json.dumps({**recipe, "steps": [on_cluster(step) for step in recipe["steps"]]}))
    experiment_id = service.get(f"/runs/{first}")["experiment_id"]

    def steps() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = service.get(f"/experiments/{experiment_id}/steps")["steps"]
        return found

    wait_for("the last step's end", lambda: all(s["state"] not in ("waiting", "running") for s in steps()), PATIENCE_S)
    assert {step["name"]: (step["state"], step["reason"]) for step in steps() if step["state"] != "done"} == {}
    if not REPORTS[name]:
        return
    last = recipe["steps"][-1]["name"]
    (run,) = service.get(f"/experiments/{experiment_id}/runs", step=last)["items"]
    report = (Path(service.get(f"/runs/{run['id']}")["folder"]) / "report.md").read_text()
    assert [words for words in REPORTS[name] if words not in report] == [], report
