"""Calls in the shape of wandb's, by one changed import."""

import json
from pathlib import Path

import pytest

from contract.folder.events import Points
from tests.bigbatch.running.test_log import events
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


def points(folder: Path) -> dict[int, dict[str, float | None]]:
    """Return the values of each step, as the service joins them."""
    found: dict[int, dict[str, float | None]] = {}
    for event in events(folder):
        if isinstance(event, Points):
            found.setdefault(event.step, {}).update(event.values)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


def test_a_script_that_logs_to_wandb_logs_into_its_run(folder: Path) -> None:
    (folder / "parameters.json").write_text(json.dumps({"lr": 0.01}))
    output, errors = run_script(SCRIPT, environment_of(folder))
    assert output == "first digits 0.01 8 0.25 3\n"  # the run's parameter replaces the script's default
    labels, watched, picture, config = errors.splitlines()
    assert watched == "bigbatch: wandb.watch logs no gradients: log their norm as a metric"
    assert picture == "bigbatch: the value of 'picture' is no number, and is left out"
    assert labels.startswith("bigbatch: wandb.init does not label the run with project, name, tags: bigbatch run has")
    assert config.startswith("bigbatch: wandb's config (epochs, batch) is in the run's file wandb-config.json; to sort")
    assert json.loads((folder / "wandb-config.json").read_text()) == {"epochs": 3, "batch": 8}
    assert points(folder) == {
        1: {"loss": 1.0, "train/accuracy": 0.5},
        2: {"loss": 0.5, "lr": 0.1},
        10: {"loss": 0.25, "best": 3.0},
        11: {"loss": 0.125},
    }


@pytest.mark.ring("gate")
def test_a_summary_is_logged_at_the_end_also_without_finish(folder: Path) -> None:
    script = """
from bigbatch import wandb
run = wandb.init()
wandb.log({"loss": 1.0}, step=5)
wandb.log({"loss": 0.5}, step=6)
wandb.summary["loss"] = 0.5
wandb.run.summary.update({"best": {"loss": 0.25}, "note": "good"})
"""
    assert run_script(script, environment_of(folder))[1] == (
        "bigbatch: the value of 'note' is no number, and is left out\n"
    )
    assert points(folder) == {5: {"loss": 1.0}, 6: {"loss": 0.5, "best/loss": 0.25}}


def test_it_works_by_hand(tmp_path: Path) -> None:
    assert run_script(SCRIPT, environment_of(None), cwd=tmp_path) == ("first digits 0.5 8 0.25 3\n", "")
    assert list(tmp_path.iterdir()) == []


MEDIA = """
import argparse
from bigbatch import wandb
run = wandb.init(config=argparse.Namespace(lr=0.5), settings=wandb.Settings(silent=True))
wandb.config.update(argparse.Namespace(batch=8), allow_val_change=True)
table = wandb.Table(columns=["a"])
table.add_data(1)
wandb.log({"loss": 1.0, "picture": wandb.Image([[0]], caption="x"), "weights": wandb.Histogram([1]), "table": table})
wandb.log({"matrix": wandb.plot.confusion_matrix(y_true=[1], preds=[1])})
artifact = wandb.Artifact("model", type="model")
artifact.add_file("model.pt")
run.log_artifact(artifact)
wandb.log_artifact(artifact)
wandb.alert(title="done", text="trained")
wandb.unwatch()
run.log_code(".")
print(run.config.lr, wandb.config.batch)
"""


def test_what_has_no_curve_is_left_out_and_ends_no_script(folder: Path) -> None:
    output, errors = run_script(MEDIA, environment_of(folder))
    assert output == "0.5 8\n"
    left_out = ["picture", "weights", "table", "matrix"]
    lines = errors.splitlines()
    assert lines[:4] == [f"bigbatch: the value of '{name}' is no number, and is left out" for name in left_out]
    said = [line.removeprefix("bigbatch: ").split()[0] for line in lines[4:]]
    assert said == ["wandb.log_artifact", "alert:", "wandb.alert", "wandb.log_code", "wandb's"]
    assert "alert: done: trained" in errors
    assert points(folder) == {1: {"loss": 1.0}}


@pytest.mark.parametrize("name", ["agent", "sweep", "Api", "use_artifact"])
def test_what_would_start_or_read_something_is_refused(folder: Path, name: str) -> None:
    script = f"from bigbatch import wandb\ntry:\n    wandb.{name}\nexcept AttributeError as error:\n    print(error)"
    output, _ = run_script(script, environment_of(folder))
    assert output.startswith(f"bigbatch.wandb has no {name!r}")


@pytest.mark.parametrize(
    ("calls", "stored"),
    [
        ("log({'a': 1}, step=3, commit=False); log({'b': 2}, step=4)", {3: {"a": 1.0}, 4: {"b": 2.0}}),
        ("log({'a': 1}, step=3, commit=False); log({'b': 2}, step=3)", {3: {"a": 1.0, "b": 2.0}}),
        ("log({'a': 1}, step=3, commit=False); log({'b': 2}); log({'c': 3})", {3: {"a": 1.0, "b": 2.0}, 4: {"c": 3.0}}),
        ("log({'a': 1}, step=3); log({'b': 2}); log({'c': 3})", {3: {"a": 1.0, "b": 2.0}, 4: {"c": 3.0}}),
        ("log({'a': 1}, step=3, commit=True); log({'b': 2})", {3: {"a": 1.0}, 4: {"b": 2.0}}),
        ("log({'a': 1}, commit=False); log({'b': 2}, step=7)", {1: {"a": 1.0}, 7: {"b": 2.0}}),
        ("log({'a': 1}, commit=False); log({'a': 2}, commit=False); log({'b': 3})", {1: {"a": 2.0, "b": 3.0}}),
        ("log({'a': 1}, step=3, commit=False); wandb.finish()", {3: {"a": 1.0}}),
        ("log({'a': 1}, commit=False); import os; os._exit(0)", {1: {"a": 1.0}}),
    ],
)
def test_values_belong_to_the_step_that_was_open(
    folder: Path, calls: str, stored: dict[int, dict[str, float | None]]
) -> None:
    script = f"from bigbatch import wandb\nlog = wandb.log\n{calls}"
    assert run_script(script, environment_of(folder)) == ("", "")
    assert points(folder) == stored


NAMES = """
from bigbatch import wandb
wandb.init(id=wandb.util.generate_id())
wandb.alert(title="a", text="b", level=wandb.AlertLevel.WARN)
try:
    raise ValueError
except (wandb.Error, wandb.errors.CommError):
    raise
except ValueError:
    pass
print(wandb.AlertLevel.ERROR.value, [level.name for level in wandb.AlertLevel], len(wandb.util.generate_id(12)))
wandb.log({"image": wandb.data_types.Image(None)})
wandb.teardown()
"""


def test_names_beside_the_calls_end_no_script(folder: Path) -> None:
    output, errors = run_script(NAMES, environment_of(folder))
    assert output == "ERROR ['INFO', 'WARN', 'ERROR'] 12\n"
    alert, goes_nowhere, image = errors.splitlines()
    assert (alert, image) == ("bigbatch: alert: a: b", "bigbatch: the value of 'image' is no number, and is left out")
    assert goes_nowhere.startswith("bigbatch: wandb.alert writes into this log alone: bigbatch notify")
    assert run_script(NAMES, environment_of(folder, rank=1, world=2))[1] == image + "\n"
