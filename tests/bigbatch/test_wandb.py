"""Calls in the shape of wandb's, by one changed import."""

import json
from pathlib import Path

import pytest

from tests.bigbatch.running.test_log import points
from tests.testing.scripts import environment_of, make_run_folder, run_script

SCRIPT = """
from bigbatch import wandb
run = wandb.init(project="digits", config={"lr": 0.5, "epochs": 3}, name="first", mode="online", tags=["a"])
assert wandb.config.epochs == 3 and wandb.config["lr"] == run.config.lr
wandb.config.update({"batch": 8})
wandb.define_metric("loss", summary="min")
wandb.watch(None)
wandb.log({"loss": 1.0, "train": {"accuracy": 0.5}})
wandb.log({"loss": 0.5}, commit=False)
wandb.log({"lr": 0.1})
run.log({"loss": 0.25, "picture": object()}, step=10)
run.summary["best"] = 3
print(run.name, run.project, wandb.config.lr, wandb.config.batch, run.summary["loss"], wandb.summary.best)
wandb.finish()
with wandb.init() as run:
    run.log({"loss": 0.125})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


def test_a_script_that_logs_to_wandb_logs_into_its_run(folder: Path) -> None:
    (folder / "parameters.json").write_text(json.dumps({"lr": 0.01}))
    output, errors = run_script(SCRIPT, environment_of(folder))
    assert output == "first digits 0.01 8 0.25 3\n"  # the run's parameter replaces the script's default
    assert errors == "bigbatch: the value of 'picture' is no number, and is left out\n"
    assert points(folder) == {
        1: {"loss": 1.0, "train/accuracy": 0.5},
        2: {"loss": 0.5, "lr": 0.1},
        10: {"loss": 0.25},
        11: {"loss": 0.125},
    }


def test_it_works_by_hand(tmp_path: Path) -> None:
    assert run_script(SCRIPT, environment_of(None), cwd=tmp_path) == ("first digits 0.5 8 0.25 3\n", "")
    assert list(tmp_path.iterdir()) == []
