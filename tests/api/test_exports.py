"""Points and runs as files: the three formats say the same, wrong requests are refused, and memory is bounded."""

import csv
import importlib
import io
import json
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, QueuePool

from api.exports import answer
from api.exports.formats import CsvWriter
from api.exports.parquet import ROW_GROUP
from api.exports.points import COLUMNS, _blocks
from contract.folder import events
from store.metrics import points as stored_points
from store.metrics.chunks import write_points
from store.metrics.curves import PART, in_parts
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import transaction
from tests.testing.api import SPEC, post

MIXED = """
name: mixed values
base:
  kind: program
  command: [train, "{lr}"]
  parameters: {lr: 1, flag: true, name: a}
axes: {parameters.lr: [1, 0.5, auto], parameters.flag: [true, false]}
"""
ODD = 'odd, "name"'


def put(engine: Engine, run_id: int, name: str, steps: Any, values: Any) -> None:
    with transaction(engine) as db:
        series_id = ids_of(db, [(run_id, name)], [run_id])[run_id, name]
        write_points(db, {series_id: Points(np.array(steps, np.int64), np.array(values, np.float64))})


@pytest.fixture
def points(both: TestClient, engine: Engine) -> TestClient:
    """Run 1 has two short series, run 2 one of several parts; run 3 has no points."""
    assert post(both, SPEC + "axes: {seed: [7, 8]}\n").status_code == 201
    put(engine, 1, "loss", [1, 2, 3, 9], [0.1, math.nan, math.inf, -math.inf])
    put(engine, 1, ODD, [4], [1e-9])
    put(engine, 2, "loss", range(100_000), np.arange(100_000) / 7)
    return both


def rows_of(client: TestClient, form: str, path: str = "points", **asked: Any) -> list[tuple[Any, ...]]:
    found = client.get(f"/api/v1/export/{path}", params={"format": form, **asked})
    assert found.status_code == 200, found.text
    assert found.headers["content-disposition"] == f'attachment; filename="{path}.{form}"'
    if form == "parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(found.content))
        return [tuple(row.values()) for row in table.to_pylist()]
    if form == "jsonl":
        return [tuple(json.loads(line).values()) for line in found.text.splitlines()]
    _, *rows = csv.reader(io.StringIO(found.text))
    return [tuple(row) for row in rows]


def plain(row: tuple[Any, ...]) -> tuple[int, str, int, str]:
    return int(row[0]), row[1], int(row[2]), repr(float(row[3]))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_table_has_each_column_once(both: TestClient, engine: Engine, form: str) -> None:
    name = "m" * 200
    with transaction(engine) as db:
        stored_points.put(db, 1, [events.Points(attempt=1, at=0.0, step=1, values={name: float("nan"), "loss": 0.5})])
    asked = {"column": ["state", "id", "batch", "batch", name, "loss"], "format": form}
    found = both.get("/api/v1/export/runs", params=asked)
    assert found.status_code == 200, found.text
    expected = ["id", "experiment_id", "state", "batch", name, "loss"]
    if form == "parquet":
        pytest.importorskip("pyarrow")
        (row,) = importlib.import_module("pyarrow.parquet").read_table(io.BytesIO(found.content)).to_pylist()
    elif form == "jsonl":
        row = json.loads(found.text)
    else:
        (row,) = csv.DictReader(io.StringIO(found.text))
        assert found.text.splitlines()[0] == ",".join(expected)
    assert list(row) == expected
    assert str(row[name]).lower() == "nan"


@pytest.mark.ring("all")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_every_point_is_in_each_format(points: TestClient, form: str) -> None:
    found = [plain(row) for row in rows_of(points, form)]
    assert found[:5] == [
        *((1, "loss", step, value) for step, value in [(1, "0.1"), (2, "nan"), (3, "inf"), (9, "-inf")]),
        (1, ODD, 4, "1e-09"),
    ]
    assert found[5:] == [(2, "loss", step, repr(step / 7)) for step in range(100_000)]


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"where": "seed = 7"}, 100_000),
        ({"experiment": 1}, 5),
        ({"run": [1]}, 5),
        ({"run": [1, 2, 3], "name": "loss", "from": 2, "to": 4}, 2 + 3),
        ({"run": [1, 2], "where": "seed = 8"}, 0),
        ({"run": 2, "from": 65_000, "to": 70_000}, 5_001),
        ({"name": ["loss", ODD], "where": "id = 1"}, 5),
        ({"name": "absent"}, 0),
        ({"archived": "true"}, 0),
    ],
)
def test_a_selection_has_its_points_alone(points: TestClient, asked: dict[str, Any], count: int) -> None:
    assert len(rows_of(points, "csv", **asked)) == count


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("path", "asked", "field", "message"),
    [
        ("points", {"format": "xlsx"}, "format", "csv"),
        ("points", {"where": "batch >"}, "where", "expected a value"),
        ("points", {"run": [1, 77]}, "run", "no run 77"),
        ("points", {"from": -1}, "from", "greater"),
        ("runs", {"column": ["bacth"]}, "column", "did you mean"),
        ("runs", {"sort": "-"}, "sort", "expected"),
        ("runs", {"colum": "batch"}, "colum", "column"),
    ],
)
def test_a_wrong_request_is_refused_before_the_first_byte(
    points: TestClient, path: str, asked: dict[str, Any], field: str, message: str
) -> None:
    found = points.get(f"/api/v1/export/{path}", params=asked)
    assert found.status_code == 422
    (issue, *_) = found.json()["errors"]
    assert issue["path"].startswith(field)
    assert message in issue["message"]


def test_a_service_without_pyarrow_names_the_extra(points: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: pyarrow is not installed."""

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    found = points.get("/api/v1/export/points", params={"format": "parquet"})
    assert found.status_code == 422
    assert found.json()["errors"][0]["path"] == "format"
    assert "bigbatch[parquet]" in found.json()["errors"][0]["message"]
    assert points.get("/api/v1/export/points", params={"run": 1}).status_code == 200


def test_a_parquet_file_has_row_groups_of_a_bounded_size(points: TestClient, engine: Engine) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    put(engine, 3, "loss", range(2 * ROW_GROUP), np.zeros(2 * ROW_GROUP))
    found = points.get("/api/v1/export/points", params={"format": "parquet"})
    file = parquet.ParquetFile(io.BytesIO(found.content))
    assert file.metadata.num_rows == 5 + 100_000 + 2 * ROW_GROUP
    groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    assert max(groups) <= ROW_GROUP
    assert [str(field.type) for field in file.schema_arrow] == ["int64", "string", "int64", "double"]


@pytest.mark.ring("all")
def test_memory_does_not_grow_with_the_number_of_points(points: TestClient, engine: Engine) -> None:
    """One part of a series is in memory, however long the series is."""
    put(engine, 3, "loss", range(400_000), np.arange(400_000) / 7)
    peaks, sizes = [], []
    for run_id in (2, 3):
        tracemalloc.start()
        parts = answer._parts(CsvWriter(COLUMNS), _blocks(engine, [run_id], (), 0, 2**31 - 1))
        sizes.append(sum(map(len, parts)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[1] > 4 * sizes[0] > 8_000_000
    assert peaks[1] < 1.3 * peaks[0]


def test_a_client_that_reads_slowly_holds_no_connection_to_the_database(points: TestClient, engine: Engine) -> None:
    parts = in_parts(engine, 2)
    first = next(parts)
    assert isinstance(engine.pool, QueuePool)
    assert engine.pool.checkedout() == 0
    # what arrives meanwhile belongs to the rest: a later step, and a step of the part that was read
    put(engine, 2, "loss", [5, 200_000], [-1.0, 1.0])
    rest = list(parts)
    assert len(first.points.steps) == PART * 4096
    assert [int(part.points.steps[0]) for part in rest] == [len(first.points.steps)]
    assert int(rest[-1].points.steps[-1]) == 200_000
    assert sum(len(part.points.steps) for part in (first, *rest)) == 100_001


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_table_of_runs_is_in_each_format(both: TestClient, form: str) -> None:
    assert post(both, MIXED, force=True).status_code == 201
    asked = {"experiment": 2, "column": ["lr", "flag", "number", "notes"], "sort": "-number"}
    found = rows_of(both, form, "runs", **asked)
    assert [int(row[0]) for row in found] == [7, 6, 5, 4, 3, 2]
    assert {(int(row[1]), row[2]) for row in found} == {(2, "queued")}
    rates = {"csv": ["auto", "0.5", "1"], "jsonl": ["auto", 0.5, 1], "parquet": ["auto", "0.5", "1"]}
    assert [row[3] for row in found[::2]] == rates[form]
    assert [float(row[5]) for row in found] == [5, 4, 3, 2, 1, 0]


def test_a_table_without_rows_has_its_columns(both: TestClient) -> None:
    found = both.get("/api/v1/export/runs", params={"where": "id = 99", "column": "batch"})
    assert found.text == "id,experiment_id,state,batch\n"
    assert both.get("/api/v1/export/points", params={"format": "jsonl"}).text == ""
