"""Initial weights: a run of another experiment is resolved to its newest checkpoint, or refused with the reason."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post

CHECKPOINT = "step-0000000044-attempt-1"


@pytest.fixture
def source(both: TestClient, engine: Engine, tmp_path: Path) -> Path:
    """The folder of run 1, which has a complete checkpoint."""
    with transaction(engine) as db:
        folder = RunFolder.of(tmp_path / "runs", 1, db.get_one(Run, 1).key)
    (folder.checkpoints / CHECKPOINT).mkdir(parents=True)
    (folder.checkpoints / CHECKPOINT / "manifest.json").write_text("{}")
    return folder.path


def refusal(client: TestClient, more: str) -> tuple[str, str]:
    answer = post(client, SPEC + more)
    assert answer.status_code == 422, answer.text
    (issue,) = answer.json()["errors"]
    return issue["path"], issue["message"]


def test_the_run_gets_folder_and_checkpoint_and_the_document_stays(both: TestClient, source: Path) -> None:
    made = post(both, SPEC + "  initial_weights: {run: 1, folder: /etc}\n  evaluate_only: true\naxes: {seed: [0, 1]}\n")
    assert made.status_code == 201, made.text
    for run_id in made.json()["runs"]:
        run: dict[str, Any] = both.get(f"/api/v1/runs/{run_id}").json()
        assert run["spec"]["initial_weights"] == {"run": 1, "folder": str(source), "checkpoint": CHECKPOINT}
        assert run["steps"] == 0
    base = both.get(f"/api/v1/experiments/{made.json()['id']}").json()["spec"]["base"]
    assert base["initial_weights"]["checkpoint"] is None
    added = both.post(f"/api/v1/experiments/{made.json()['id']}/points", json={"axes": {"seed": [2]}}).json()["runs"]
    assert both.get(f"/api/v1/runs/{added[0]}").json()["spec"]["initial_weights"]["folder"] == str(source)


@pytest.mark.usefixtures("source")
def test_weights_that_do_not_fit_are_refused(both: TestClient) -> None:
    path, message = refusal(both, "  initial_weights: {run: 1}\n  model: {kind: convnet, width: 8}\n")
    assert (path, "do not fit: its net is convnet (width 16)" in message) == ("base.initial_weights.run", True)
    glyphs = "  data: {kind: glyphs, classes: 12, train_samples: 512, heldout_samples: 64}\n"
    assert "and 10 classes" in refusal(both, "  initial_weights: {run: 1}\n" + glyphs)[1]
    axis = "  initial_weights: {run: 1}\naxes: {initial_weights.run: [1, 77]}\n"
    assert refusal(both, axis) == (
        "axes.initial_weights.run",
        "there is no run 77, or the run whose result it took is deleted",
    )


@pytest.mark.usefixtures("source")
def test_weights_of_a_point_outside_the_grid_are_refused_at_its_place(both: TestClient) -> None:
    made = post(both, SPEC + "  initial_weights: {run: 1}\naxes: {seed: [0, 1]}\n").json()["id"]
    points = [{"seed": 2}, {"initial_weights.run": 77}]
    answer = both.post(f"/api/v1/experiments/{made}/points", json={"points": points})
    assert [issue["path"] for issue in answer.json()["errors"]] == ["points.1.initial_weights.run"], answer.text


def test_a_run_without_a_checkpoint_is_refused(both: TestClient) -> None:
    assert "run 1 has no checkpoint" in refusal(both, "  initial_weights: {run: 1}\n")[1]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ("  evaluate_only: true\n", "base.evaluate_only"),
        ("  initial_weights: {run: 1}\n  rule: {kind: easgd}\n", "base.initial_weights"),
    ],
)
def test_what_needs_other_fields_is_refused(both: TestClient, more: str, path: str) -> None:
    answer = post(both, SPEC + more)
    assert path in [issue["path"] for issue in answer.json()["errors"]]
