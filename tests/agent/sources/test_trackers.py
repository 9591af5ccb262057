"""A program that logs to another tracker, of which no metric is read, is noticed and told what to set."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.sources import trackers
from agent.sources.places import Folders
from agent.sources.trackers import TrackerWatch
from contract.folder.events import Noticed
from contract.folder.run_folder import RunFolder
from tests.testing.programs import events_of, kinds_of, program_folder, run_agent

WANDB = "mkdir -p wandb/offline-run-20260101_000000-abc; true"


def noticed(folder: RunFolder) -> list[str]:
    return [event.metrics for event in events_of(folder) if isinstance(event, Noticed)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (WANDB, "this run logs to wandb (wandb/offline-run-20260101_000000-abc), and Bigbatch reads no metric of it: "),
        (WANDB, "write `from bigbatch import wandb` in place of `import wandb`, or print the values"),
        ("mkdir -p wandb/run-20260101_000000-abc", "this run logs to wandb (wandb/run-20260101_000000-abc)"),
        ("touch mlflow.db", "this run logs to MLflow (mlflow.db), and Bigbatch reads no metric of it: call `bigbatch"),
        ("mkdir -p mlruns/0/4f2a", "this run logs to MLflow (mlruns/0/4f2a)"),
        ("mkdir trackio; touch trackio/p.db", "write `from bigbatch import wandb as trackio` in place of"),
        (
            "mkdir -p lightning_logs/version_0; touch lightning_logs/version_0/metrics.csv",
            "Lightning's CSVLogger (lightning_logs/version_0/metrics.csv)",
        ),
    ],
)
def test_the_end_of_a_program_names_the_tracker_and_what_to_set(tmp_path: Path, command: str, words: str) -> None:
    folder = program_folder(tmp_path, command)
    assert run_agent(folder) == 0
    (sentence,) = noticed(folder)
    assert words in sentence
    assert f"bigbatch: metrics of the run: {sentence}\n" in folder.log.read_text()
    assert kinds_of(folder)[-2:] == ["noticed", "finished"]


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("true", {}),
        (f"{WANDB}; echo step 1 loss 2", {"metrics": [{"kind": "output", "pattern": r"loss (?P<loss>\S+)"}]}),
        (f"{WANDB}; python3 -c 'import bigbatch; bigbatch.log(loss=1.0)'", {}),
        (WANDB, {"metrics": []}),
    ],
    ids=["no tracker", "a source", "bigbatch.log", "no metrics wanted"],
)
def test_a_run_that_has_metrics_or_wants_none_is_told_nothing(
    tmp_path: Path, command: str, fields: dict[str, Any]
) -> None:
    folder = program_folder(tmp_path, command, **fields)
    assert run_agent(folder, environment={"PYTHONPATH": str(Path(__file__).parents[3])}) == 0
    assert noticed(folder) == []
    assert "logs to" not in folder.log.read_text()


def test_a_tracker_is_noticed_while_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emitted: list[Any] = []
    monkeypatch.setattr(trackers, "FIRST_S", 0.0)
    watch = TrackerWatch(Folders(str(tmp_path)), lambda events: bool(emitted.extend(events) or True), 1)
    (tmp_path / "mlflow.db").touch()
    watch.poll()
    watch.poll()
    assert [event["kind"] for event in emitted] == ["noticed"]


def test_what_came_with_the_code_is_no_tracker_of_the_run(tmp_path: Path) -> None:
    emitted: list[Any] = []
    (tmp_path / "work" / "wandb" / "run-1").mkdir(parents=True)
    (tmp_path / "mlruns").mkdir()
    folders = Folders(str(tmp_path), str(tmp_path / "work"))
    watch = TrackerWatch(folders, lambda events: bool(emitted.extend(events) or True), 1)
    watch.look()
    assert emitted == []
    (tmp_path / "work" / "wandb" / "run-2").mkdir()
    watch.look()
    assert "(work/wandb/run-2)" in emitted[0]["metrics"]


@pytest.mark.parametrize(("file", "is_told"), [("system-host.jsonl", True), ("rank-1.jsonl", False)])
def test_the_metrics_of_the_node_are_none_of_the_program(tmp_path: Path, file: str, is_told: bool) -> None:
    folder = program_folder(
        tmp_path, f"{WANDB}; mkdir -p $BIGBATCH_RUN_FOLDER/points; echo > $BIGBATCH_RUN_FOLDER/points/{file}"
    )
    assert run_agent(folder) == 0
    assert bool(noticed(folder)) is is_told
    assert ("logs to wandb" in folder.log.read_text()) is is_told


def test_a_database_that_came_with_the_code_is_noticed_once_the_program_writes_into_it(tmp_path: Path) -> None:
    for command, is_told in (("true", False), ("echo more >> $BIGBATCH_RUN_FOLDER/mlflow.db", True)):
        folder = program_folder(tmp_path / str(is_told), command)
        (folder.path / "mlflow.db").write_text("of another day")
        os.utime(folder.path / "mlflow.db", (1000, 1000))
        assert run_agent(folder) == 0
        assert bool(noticed(folder)) is is_told
