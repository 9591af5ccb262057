"""The commands and client methods for experiments and runs after their submission."""

import csv
import importlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from bigbatch.client import Client
from bigbatch.errors import ApiError
from bigbatch.frame import NoPandas
from bigbatch.lifecycle_client import WaitTimeout
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.runs import Run
from tests.testing.command import Call, Site
from tests.testing.stored_runs import TO_RUNNING, current_job, end_attempt, move
from tests.testing.workflows import step, workflow

GRID = {"batch": [64, 128]}


@pytest.fixture
def document(spec: Path) -> dict[str, Any]:
    from contract.yaml_reader import read_document

    return {**read_document(spec.read_bytes()), "axes": GRID}


@pytest.fixture
def runs(client: Client, document: dict[str, Any]) -> tuple[int, list[int]]:
    """An experiment with two queued runs."""
    created = client.create(document)
    return created.id, created.runs


def end(site: Site, run_id: int, state: State, accuracy: float | None = None) -> None:
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        for new in TO_RUNNING:
            move(db, run, new)
        end_attempt(db, run, ExitCause.FAILURE, "no")
        current_job(db, run).is_gone = True
        run.objective_value = accuracy
        move(db, run, state)


def test_retry_names_the_runs_that_go_on_and_those_that_stay(
    site: Site, client: Client, runs: tuple[int, list[int]], call: Call
) -> None:
    number, (first, second) = runs
    end(site, first, State.FAILED)
    end(site, second, State.DONE)
    called = call("retry", number, "--stopped")
    assert "0 runs will go on" in called.out
    called = call("resume", number)
    assert called.out.splitlines() == [
        f"experiment {number}: 1 run will go on",
        f"  run {second} stays done: the run is done",
    ]
    assert client.run(first).state is State.QUEUED
    assert client.run(first).moves[-1].reason.endswith("asked for a retry")  # type: ignore[union-attr]
    assert "the run has not ended" in call("retry", first, "--run", "--failed").out


@pytest.mark.ring("gate")
def test_retry_and_resume_are_one_command_of_which_the_list_has_one(call: Call) -> None:
    listed = [line.split()[0] for line in call("--help").out.splitlines() if line.startswith("  ") and line.split()]
    assert "retry" in listed
    assert "resume" not in listed
    assert call("resume", "--help").code == 0


@pytest.mark.ring("all")
def test_a_text_in_the_place_of_a_list_of_values_is_refused(client: Client, document: dict[str, Any]) -> None:
    number = client.create(document).id
    with pytest.raises(ValueError, match=r"the values of the axis optimizer are the text 'sgd': give a list"):
        client.add_points(number, axes={"optimizer": "sgd"})


def test_rerun_and_clone_name_their_origin(client: Client, runs: tuple[int, list[int]], call: Call) -> None:
    number, (first, _) = runs
    client.add_points(number, points=[{"batch": 32}])
    again = client.rerun_experiment(number)
    assert (len(again.runs), client.experiment(again.id).origin) == (3, number)
    called = call(
        "clone", number, "--set", "base.epochs=7", "--set", "axes.seed=[1, 2]", "--set", "name=other", "--json"
    )
    found = client.experiment(int(called.out.partition('"id": ')[2].partition(",")[0]))
    assert (found.name, found.spec.axes, found.origin) == ("other", {**GRID, "seed": [1, 2]}, number)
    called = call("rerun", first)
    alone = client.experiment(int(called.out.split()[1].rstrip(",")))
    assert (alone.runs, alone.origin, alone.name.startswith(f"rerun of run {first}: ")) == (1, number, True)
    refused = call("clone", number, "--set", "base.epochs=none")
    assert (refused.code, "base.epochs" in refused.err) == (2, True)
    assert call("clone", number, "--set", "base.epochs").code == 2


@pytest.mark.ring("all")
def test_a_workflow_is_submitted_again_from_a_step(client: Client, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        json.dumps(workflow(step("prepare"), step("train", needs=["prepare"])).spec.model_dump(mode="json"))
    )
    assert call("submit", file).code == 0
    number = max(one.id for one in client.experiments())
    again = client.rerun_experiment(number, from_step="train")
    assert client.experiment(again.id).origin == number
    assert call("clone", number, "--from", "train").code == 0
    assert call("rerun", number, "--experiment", "--from", "train").code == 0
    for words in (["submit", file], ["clone", number], ["rerun", number, "--experiment"]):
        refused = call(*words, "--from", "trian")
        assert (refused.code, "did you mean 'train'?" in refused.err) == (2, True), refused
    assert call("rerun", number, "--from", "train").code == 2


def test_rerun_and_clone_keep_the_present_project_and_tags(
    client: Client, runs: tuple[int, list[int]], call: Call
) -> None:
    number, (first, _) = runs
    call("assign", number, "--project", "vision")
    call("tag", number, "late")
    for again in (client.rerun(first), client.clone(number, {})):
        found = client.experiment(again.id)
        assert (found.project, found.tags, found.notes) == ("vision", ["late"], "")


@pytest.mark.ring("all")
def test_extend_adds_points_and_epochs(client: Client, runs: tuple[int, list[int]], call: Call) -> None:
    number, (first, _) = runs
    assert "2 new runs, 2 points were there before" in call("extend", number, "--axis", "batch=[256, 512]").out
    assert "1 new run" in call("extend", number, "--point", "{batch: 32, seed: 4}").out
    assert "1 new run, 4 points were there before" in call("extend", number, "--axis", "batch=1024").out
    assert client.experiment(number).added_points == [{"batch": 32, "seed": 4}]
    assert call("extend", number).code == 2
    refused = call("extend", "--run", first, "--epochs", 2)
    assert (refused.code, "is queued, and only a run that is done can be extended" in refused.err) == (1, True)


@pytest.mark.ring("all")
def test_labels_by_commands(client: Client, runs: tuple[int, list[int]], call: Call) -> None:
    number, (first, _) = runs
    assert call("rename", number, "a new name").out == f"experiment {number}: a new name\n"
    call("note", number, "first")
    assert call("note", number, "second", "--add").out == "first\n\nsecond\n"
    assert call("note", number).out == "first\n\nsecond\n"
    assert call("note", first, "odd", "--run").out == "odd\n"
    assert call("tag", number, "b", "a").out == "a b\n"
    assert call("tag", number, "--remove", "b").out == "a\n"
    assert call("tag", first, "look", "--run").out == "look\n"
    assert call("note", first, "--run", "--clear").out == "\n"
    assert call("note", first, "other", "--run", "--clear").code == 1
    assert call("assign", number, "--owner", "ada", "--project", "vision").out.endswith("owner ada, project vision\n")
    assert call("assign", number, "--project", "").out == f"experiment {number}: owner ada, project none\n"
    assert str(number) in call("search", "first").out
    assert str(number) not in call("search", "nowhere-to-be-found").out
    call("archive", number)
    assert [one.id for one in client.experiments(where={"archived": "true"})] == [number]
    call("archive", number, "--undo")
    assert not list(client.experiments(where={"archived": "true"}))
    assert call("leave-out", first).code == 1, "without a reason"
    assert call("leave-out", first, "--reason", "disk full").out == f"left out of answers: run {first}\n"
    assert client.run(first).left_out == "disk full"
    assert call("leave-out", first, "--undo").out == f"counted in answers again: run {first}\n"
    assert client.run(first).left_out is None


@pytest.mark.parametrize(
    ("words", "field"),
    [(("rename", 1, ""), "name: "), (("tag", 1, "two words"), "add_tags")],
)
def test_a_label_that_is_not_allowed_is_named(call: Call, words: tuple[object, ...], field: str) -> None:
    refused = call(*words)
    assert (refused.code, refused.err.removeprefix("bigbatch: ").startswith(field)) == (1, True), refused.err
    assert "pydantic" not in refused.err


def test_delete_shows_the_size_and_asks(
    site: Site, client: Client, runs: tuple[int, list[int]], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, run_ids = runs
    for run_id in run_ids:
        end(site, run_id, State.FAILED)
    refused = call("delete", number)
    assert (refused.code, "2 runs, 0 files, 0 B" in refused.out) == (1, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert "nothing was deleted" in call("delete", number).err
    monkeypatch.setattr("builtins.input", lambda _: client.experiment(number).name)
    deleted = call("delete", number)
    assert (deleted.code, f"undo: bigbatch delete {number} --undo" in deleted.out) == (0, True)
    with pytest.raises(ApiError, match="there is no experiment"):
        client.experiment(number)


@pytest.mark.ring("all")
def test_a_deletion_is_listed_and_undone(site: Site, client: Client, runs: tuple[int, list[int]], call: Call) -> None:
    number, run_ids = runs
    for run_id in run_ids:
        end(site, run_id, State.FAILED)
    call("delete", number, "--yes")
    earlier = [one.id for one in client.deletions()][1:]
    assert next((one.kind, one.id, one.runs) for one in client.deletions()) == ("experiment", number, 2)
    assert f"experiment {number}" in call("deleted").out
    assert call("delete", number, "--undo").out == f"restored experiment {number} with 2 runs\n"
    assert "nothing was restored" in call("delete", number, "--undo").out
    call("delete", run_ids[0], "--run", "--yes")
    assert f"run {run_ids[0]}" in call("deleted").out
    assert call("delete", run_ids[0], "--run", "--undo").code == 0
    assert (client.experiment(number).runs, [one.id for one in client.deletions()]) == (2, earlier)


def test_lists_by_the_objective_and_as_csv(site: Site, client: Client, document: dict[str, Any], call: Call) -> None:
    created = [client.create({**document, "tags": ["by-accuracy"]}) for _ in range(3)]
    for one, accuracy in zip(created[:2], (0.5, 0.75), strict=True):
        end(site, one.runs[1], State.DONE, accuracy)
    first, second, third = (one.id for one in created)
    orders = {}
    for sort in ("objective", "-objective", "accuracy"):
        printed = call("list", "--sort", sort, "--tag", "by-accuracy", "--csv").out
        orders[sort] = [int(row["id"]) for row in csv.DictReader(io.StringIO(printed))]
    best_first = [second, first, third]
    assert orders == {"objective": best_first, "-objective": [first, second, third], "accuracy": best_first}
    rows = list(csv.DictReader(io.StringIO(call("show", second, "--sort", "objective", "--csv").out)))
    assert [(row["batch"], row["objective_value"]) for row in rows] == [("128", "0.75"), ("64", "")]


def test_wait_returns_when_all_runs_have_ended(site: Site, client: Client, runs: tuple[int, list[int]]) -> None:
    number, run_ids = runs
    with pytest.raises(WaitTimeout, match="has not ended within 0 s"):
        client.wait(number, timeout=0.0)
    for run_id in run_ids:
        end(site, run_id, State.DONE)
    assert client.wait(number, timeout=60).state is State.DONE


def test_a_frame_needs_pandas(client: Client, runs: tuple[int, list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces both: pandas is absent, and a module that makes a frame of the rows."""

    class Frame(list[dict[str, Any]]):
        def set_index(self, name: str) -> "Frame":
            return Frame(sorted(self, key=lambda row: int(row[name])))

    def absent(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(NoPandas, match="pip install pandas"):
        client.to_frame(runs[0])
    monkeypatch.setattr(importlib, "import_module", lambda _: type("pandas", (), {"DataFrame": Frame}))
    frame = client.to_frame(runs[0])
    assert [(row["id"], row["batch"], row["state"]) for row in frame] == [
        (run_id, batch, "queued") for run_id, batch in zip(runs[1], GRID["batch"], strict=True)
    ]
