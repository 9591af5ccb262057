"""Recipes of recipes/programs on one machine, from the file to the curve; test_recipes_on_lab.py has all of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.yaml_reader import read_document
from tests.testing.service import Service

pytestmark = [pytest.mark.flow, pytest.mark.long]
PROGRAMS = Path(__file__).parents[2] / "recipes" / "programs"


def post(service: Service, name: str, folder: Path = PROGRAMS, **fields: Any) -> list[int]:
    """POST a recipe with this Python's environment and with the files of `folder`; return its runs."""
    recipe = read_document((PROGRAMS / f"{name}.yaml").read_bytes())
    own = {"environment": {"venv": sys.prefix}, "working_folder": str(folder)}
    return service.post(json.dumps({**recipe, "base": {**recipe["base"], **own, **fields}}))


def curve(service: Service, run_id: int, name: str) -> dict[int, float]:
    """Return a series of a run that must be done."""
    run = service.wait_for_end(run_id, patience_s=400)
    assert run["state"] == "done", service.story(run_id)
    found = service.get(f"/runs/{run_id}/points", name=name)["series"][name]
    return dict(zip(found["steps"], found["values"], strict=True))


def test_an_unmodified_ddp_script_shows_its_losses_and_accuracy(embedded: Service) -> None:
    runs = post(embedded, "ddp")
    losses = [curve(embedded, run, "loss") for run in runs]
    assert [list(steps) for steps in losses] == [list(range(1, 221))] * 2
    assert all(curve(embedded, run, "accuracy")[220] > 0.9 for run in runs)


def test_a_numpy_script_shows_what_it_writes_as_json_lines(embedded: Service) -> None:
    slow, fast = post(embedded, "least-squares")
    assert curve(embedded, fast, "loss")[50] < curve(embedded, slow, "loss")[50]
    assert abs(curve(embedded, fast, "slope")[50] - 3) < 0.1


def test_an_mpi_program_runs_by_mpirun(embedded: Service, tmp_path: Path) -> None:
    subprocess.run(["mpicc", "-O2", str(PROGRAMS / "pi.c"), "-o", str(tmp_path / "pi"), "-lm"], check=True)
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    (run_id,) = post(embedded, "pi", tmp_path, environment={"variables": as_root})
    errors = curve(embedded, run_id, "error")
    assert list(errors) == list(range(1, 13))
    assert errors[12] < errors[1]
