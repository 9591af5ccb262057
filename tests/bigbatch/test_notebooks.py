"""The notebooks of the recipes, carried out cell by cell against a service with two runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from bigbatch.client import Client
from contract.folder.events import Points
from contract.lifecycle.state import State
from store.metrics import points
from store.session import transaction
from tests.testing import seed_runs
from tests.testing.command import Site

NOTEBOOKS = sorted((Path(__file__).parents[2] / "recipes" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def experiment(client: Client, site: Site, spec: Path) -> list[int]:
    """The newest experiment: two runs that are done, with a loss and an accuracy."""
    created = client.create(spec.read_text())
    with transaction(site.engine) as db:
        for run_id in created.runs:
            values = [{"loss": 1 / step, "heldout_accuracy": 0.9 + step / 1000} for step in range(1, 51)]
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=n, values=v) for n, v in enumerate(values, 1)])
    for run_id in created.runs:
        seed_runs.move(site, run_id, [*seed_runs.TO_RUNNING, State.DONE], latest={"loss": 0.02})
    return created.runs


@pytest.mark.ring("all")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_the_frames_have_the_stored_values(
    path: Path, experiment: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells), "a notebook has no results of an earlier run"
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
    assert sorted(names["runs"].index) == experiment
    loss = names["points"][names["points"]["series"] == "loss"]
    assert loss.groupby("run")["value"].min().tolist() == [0.02, 0.02]
    assert set(experiment) <= set(names["table"].index)
    assert names["size"] == (tmp_path / "points.csv").stat().st_size
