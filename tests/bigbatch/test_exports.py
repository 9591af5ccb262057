"""`bigbatch export-points` and `export-runs`, and the client's files and frames."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from bigbatch.client import Client
from bigbatch.errors import ApiError, Unreachable
from bigbatch.frame import CURVE_COLUMNS, RUN_COLUMNS, frame_of
from contract.folder.events import Points
from store.metrics import points
from store.session import transaction
from tests.testing.api import TOKEN
from tests.testing.command import Call, Site

LOSSES = [0.5, float("nan"), 0.25]


@pytest.fixture
def run_ids(client: Client, site: Site, spec: Path) -> list[int]:
    """Two runs, with a series that has a name which pandas could take for no value."""
    created = client.create(spec.read_text())
    with transaction(site.engine) as db:
        for run_id in created.runs:
            measured = [
                Points(attempt=1, at=0.0, step=step, values={"loss": value, "NA": 1.0})
                for step, value in enumerate(LOSSES, 1)
            ]
            points.put(db, run_id, measured)
    return created.runs


def test_the_commands_write_files_in_the_format_of_their_names(
    client: Client, call: Call, run_ids: list[int], tmp_path: Path
) -> None:
    first, second = run_ids
    asked = ("export-points", f"id in ({first}, {second})", "--name", "loss", "--from", 2)
    lines = call(*asked).out.splitlines()
    assert lines == ["run,series,step,value", *(f"{run},loss,{end}" for run in run_ids for end in ("2,nan", "3,0.25"))]
    output = tmp_path / "points.jsonl"
    said = call(*asked, "--run", first, "-o", output)
    assert (said.code, said.out) == (0, "")
    assert output.read_text().splitlines()[-1] == f'{{"run": {first}, "series": "loss", "step": 3, "value": 0.25}}'
    assert list(tmp_path.glob(".*")) == []
    table = call("export-runs", f"id in ({first}, {second})", "--column", "batch", "--column", "min(loss)").out
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["id"], row["batch"], row["min(loss)"]) for row in rows] == [
        (str(run_id), "64", "0.25") for run_id in (second, first)
    ]
    assert "best(heldout_accuracy)" in call("export-runs", f"id = {first}").out or "duration" in call("export-runs").out


def test_a_wrong_request_writes_no_file(client: Client, call: Call, run_ids: list[int], tmp_path: Path) -> None:
    output = tmp_path / "points.csv"
    output.write_text("as before\n")
    wrong = call("export-points", "batch >", "-o", output)
    assert (wrong.code, wrong.out) == (2, "")
    assert "expected a value" in wrong.err
    assert call("export-points", "--format", "xlsx").code == 2
    absent = call("export-runs", "-o", tmp_path / "absent" / "runs.csv")
    assert (absent.code, "cannot be written" in absent.err) == (1, True)
    assert output.read_text() == "as before\n"
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".csv", ".part")] == ["points.csv"]


def test_a_connection_that_ends_early_is_an_error_and_no_file() -> None:
    """Forces the fault: the connection ends in the middle of the answer."""

    class Torn(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"run,series,step,value\n"
            raise httpx.RemoteProtocolError("peer closed connection")

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Torn()))
    client = Client("http://localhost:1", TOKEN, transport=transport)
    with client, pytest.raises(Unreachable, match="after 22 bytes"):
        client.export_points(io.BytesIO())


def test_frames_have_every_point(client: Client, run_ids: list[int]) -> None:
    pandas = pytest.importorskip("pandas")
    run = client.run(run_ids[0])
    long = client.points_to_frame(f"id = {run.id}")
    assert list(long.columns) == ["run", "series", "step", "value"]
    assert sorted(set(long["series"])) == ["NA", "loss"]
    np.testing.assert_array_equal(long[long["series"] == "loss"]["value"], LOSSES)
    experiment = client.experiment(run.experiment_id)
    assert experiment.id == run.experiment_id
    assert list(experiment.frame().index) == run_ids
    pandas.testing.assert_frame_equal(experiment.frame(), client.to_frame(experiment.id))
    assert len(experiment.points(["loss"], first=2)) == 2 * 2
    wide = client.points(run.id, ["loss", "NA"]).frame()
    assert (wide.index.name, list(wide.index), set(wide.columns)) == ("step", [1, 2, 3], {"loss", "NA"})
    np.testing.assert_array_equal(wide["loss"], LOSSES)
    assert client.points_to_frame("id = 0").empty
    none = client.table_to_frame("id = 0", columns=["batch", "state"])
    assert (none.index.name, list(none.columns)) == ("id", ["experiment_id", "state", "batch"])
    assert list(frame_of([], RUN_COLUMNS, "id").columns)[:3] == ["number", "state", "attempt"]
    assert list(frame_of([], CURVE_COLUMNS).pivot(index="step", columns="id", values="value").columns) == []
    with pytest.raises(ApiError, match="no run 99999"):
        client.points_to_frame(run_ids=[99999])
