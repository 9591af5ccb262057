"""Every recipe of recipes/programs on two hosts of the lab, from the file as it is to the points in the database.

The recipes are for one machine: this test replaces their resources, and their `python` is that of an environment with
Hugging Face's Trainer and Lightning (tests/testing/frameworks.py).
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bigbatch.injected.lightning_requeue import MESSAGE
from contract.yaml_reader import read_document
from tests.testing.frameworks import make_environment
from tests.testing.service import Service, running

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.long]
PROGRAMS = Path(__file__).parents[2] / "recipes" / "programs"
RECIPES = sorted(path.stem for path in PROGRAMS.glob("*.yaml"))
TWO_HOSTS = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2, "minutes": 30}
ONE_PROCESS = {"kind": "slurm", "partition": "gpu", "minutes": 30}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# recipe -> a series that falls from its first step to its last, and its steps
CURVES: dict[str, tuple[str, list[int]]] = {
    "ddp": ("loss", list(range(1, 221))),
    "ddp-with-bigbatch": ("loss", list(range(1, 221))),
    "fsdp": ("loss", list(range(10, 61, 10))),
    "least-squares": ("loss", list(range(1, 51))),
    "pi": ("error", list(range(1, 13))),
    "trainer": ("train/loss", list(range(5, 41, 5))),
    "with-lightning": ("loss", list(range(4, 75, 5))),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, lab: dict[str, str]) -> Iterator[Service]:
    # PMIx for the MPI program by srun; mpirun and the ranks of the other recipes do not use it
    setup = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1;;export SLURM_MPI_TYPE=pmix"
    settings = {**lab, "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": setup}
    with running(tmp_path_factory.mktemp("recipes"), settings) as service:
        yield service


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the recipes' folder with the compiled MPI program."""
    folder = tmp_path_factory.mktemp("programs") / "programs"
    shutil.copytree(PROGRAMS, folder)
    subprocess.run(["mpicc", "-O2", "pi.c", "-o", "pi", "-lm"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def runs(
    service: Service, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that posts a recipe, perhaps with other fields, and returns its runs when they are done."""
    environment = make_environment(tmp_path_factory.mktemp("frameworks") / "venv")

    def carry_out(name: str, **fields: Any) -> list[dict[str, Any]]:
        recipe = read_document((programs / f"{name}.yaml").read_bytes())
        base = recipe["base"]
        # the environment of the frameworks has no command torchrun
        venv = sys.prefix if base.get("launcher") == "torchrun" else str(environment)
        own: dict[str, Any] = {"environment": {"venv": venv, "variables": AS_ROOT}, "working_folder": str(programs)}
        own["resources"] = ONE_PROCESS if base.get("launcher") == "plain" else TWO_HOSTS
        run_ids = service.post(json.dumps({**recipe, "base": {**base, **own, **fields}}))
        found = [service.wait_for_end(run_id, patience_s=600) for run_id in run_ids]
        for run in found:
            assert run["state"] == "done", service.story(run["id"])
        return found

    return carry_out


def points(service: Service, run: dict[str, Any], name: str) -> dict[int, float]:
    found = service.get(f"/runs/{run['id']}/points", name=name)["series"][name]
    return dict(zip(found["steps"], found["values"], strict=True))


def log_of(run: dict[str, Any]) -> str:
    return (Path(run["folder"]) / "out.log").read_text()


def test_every_recipe_has_its_curve_here() -> None:
    assert sorted(CURVES) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_done_and_its_points_are_stored(
    service: Service, runs: Callable[..., list[dict[str, Any]]], name: str
) -> None:
    series, steps = CURVES[name]
    for run in runs(name):
        values = points(service, run, series)
        assert list(values) == steps
        assert values[steps[-1]] < values[steps[0]]
        assert name != "pi" or two_on_each_host(run)
        # ranks that each trained alone would each have written one
        assert len(list(Path(run["folder"]).rglob("*tfevents*"))) == (name in ("trainer", "with-lightning"))


def two_on_each_host(run: dict[str, Any]) -> bool:
    """Return whether the ranks of the MPI program say that two of them are on each of two hosts."""
    return list(Counter(re.findall(r"rank \d of 4 on (\S+)$", log_of(run), re.M)).values()) == [2, 2]


def test_the_mpi_program_runs_by_srun_with_pmix(service: Service, runs: Callable[..., list[dict[str, Any]]]) -> None:
    (run,) = runs("pi", launcher="srun")
    assert list(points(service, run, "error")) == list(range(1, 13))
    assert two_on_each_host(run)


def test_lightnings_own_requeue_is_switched_off(programs: Path, runs: Callable[..., list[dict[str, Any]]]) -> None:
    text = (programs / "with_lightning.py").read_text().replace("SLURMEnvironment(auto_requeue=False)", "environment")
    text = text.replace("    trainer = ", "    environment = SLURMEnvironment()\n    trainer = ", 1)
    text = text.replace("    newest = ", "    print(f'requeues {environment.auto_requeue}')\n    newest = ", 1)
    (programs / "requeues.py").write_text(text)
    command = "python requeues.py --epochs 1 --output {run_folder}/out"
    (run,) = runs("with-lightning", command=command, resources=ONE_PROCESS)
    assert log_of(run).count("requeues False") == 1
    assert log_of(run).count(MESSAGE) == 1
