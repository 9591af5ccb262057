"""The guide's examples: each YAML example is valid, and a run with all own parts trains as the text says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.folder.run_folder import RunFolder
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.run import RunSpec
from contract.yaml_reader import read_document
from tests.testing.trainers.jobs import PATIENCE_S, events

pytestmark = pytest.mark.ring("quick")

HOUSE = Path(__file__).parents[1]
RUN: dict[str, Any] = read_document((HOUSE / "recipes" / "first-run.yaml").read_bytes())


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a language on a page."""
    text = (HOUSE / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


VARYING, OWN = blocks("guide.md", "yaml"), blocks("own-parts.md", "yaml")


def experiment(example: str) -> Expanded:
    """Return the example as an experiment; what it does not state is that of the first run."""
    fields = read_document(example.encode())
    outside = {name: fields.pop(name) for name in [*fields] if name in ExperimentSpec.model_fields}
    return read_experiment({**RUN, **outside, "base": outside.get("base", {**RUN["base"], **fields})})


@pytest.mark.parametrize("example", [*VARYING, *OWN], ids=lambda example: example.split(":")[0])
def test_every_yaml_example_is_valid(example: str) -> None:
    assert experiment(example).points


def test_the_numbers_of_runs_are_those_of_the_text() -> None:
    sizes = {example.split(":")[0]: len(experiment(example).points) for example in VARYING}
    assert (sizes["axes"], sizes["variants"]) == (12, 6)


@pytest.mark.ring("all")
def test_a_run_with_all_own_parts_of_the_page_trains(tmp_path: Path) -> None:
    """The module is found by the PYTHONPATH of the job alone."""
    (module,) = blocks("own-parts.md", "python")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "my_parts.py").write_text(module)
    own = {name: part for example in OWN for name, part in read_document(example.encode()).items()}
    assert set(own) == {"model", "data", "optimizer", "schedule", "loss", "augmentation", "metrics"}
    run = RunSpec.model_validate({**own, "batch": 64, "epochs": 4, "resources": {"kind": "local", "ranks_per_node": 2}})
    assert set(run.imports) == {*own, "metrics.top3"} - {"metrics"}
    folder = RunFolder(tmp_path / "run")
    folder.prepare(run)
    job = subprocess.run(
        [sys.executable, "-m", "trainers", str(folder.path)],
        cwd=HOUSE,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "parts")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert job.returncode == 0, job.stderr
    evaluations = [event.values for event in events(folder) if event.kind == "points" and "top3" in event.values]
    assert len(evaluations) == 4
    assert all({"heldout_loss", "heldout_accuracy"} <= {*values} for values in evaluations)
    assert (evaluations[-1]["heldout_accuracy"] or 0) > 0.5
    assert (evaluations[-1]["top3"] or 0) >= (evaluations[-1]["heldout_accuracy"] or 0)
