"""`bigbatch import`: runs of TensorBoard, MLflow and Neptune with all their points, also after a cut connection."""

import math
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from bigbatch import recording_client
from bigbatch.client import Client
from bigbatch.errors import Unreachable
from bigbatch.importing.store import Import
from bigbatch.importing.tensorboard import read_tensorboard
from contract.lifecycle.state import State
from tests.testing.command import Call, Site
from tests.testing.event_files import append, scalars

BEGAN = 1_600_000_000.0


def scalar(tag: str, value: float, step: int, at: float) -> bytes:
    return scalars(step, {tag: value}, at=at)


def write_events(path: Path, records: list[bytes]) -> None:
    append(path, b"".join(records))


def experiment_of(client: Client, name: str) -> Any:
    return next(one for one in client.experiments() if one.name == name)


def series_of(client: Client, run_id: int) -> dict[str, dict[int, float | None]]:
    found = client.points(run_id).series
    return {name: dict(zip(column.steps, column.values, strict=True)) for name, column in found.items()}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two runs, one of them restarted; a folder without event files, and a file that is cut."""
    folder = tmp_path / "logs of ada"
    for place, losses in (("lars/seed-1", [0.5, 0.25]), ("lars/seed-2", [0.75, 0.5])):
        records = [scalar("loss", value, step, BEGAN + 10 * step) for step, value in enumerate(losses, 1)]
        write_events(folder / place / "events.out.tfevents.1.host", records)
    restarted = [scalar("loss", 0.125, 2, BEGAN + 50), scalar("acc/top1", math.nan, 2, BEGAN + 60)]
    write_events(folder / "lars/seed-2" / "events.out.tfevents.2.host", restarted)
    (folder / "plots").mkdir()
    return folder


def test_each_folder_of_event_files_becomes_a_run(client: Client, call: Call, logs: Path) -> None:
    said = call("import", "tensorboard", logs)
    assert said.code == 0, said.err
    experiment = experiment_of(client, "logs of ada")
    first, second = client.runs(experiment.id)
    assert [run.values["name"] for run in (first, second)] == ["lars/seed-1", "lars/seed-2"]
    assert {first.state, second.state} == {State.DONE}
    assert series_of(client, first.id) == {"loss": {1: 0.5, 2: 0.25}, "trained_s": {1: 0.0, 2: 10.0}}
    found = series_of(client, second.id)
    assert found["loss"] == {1: 0.75, 2: 0.125}, "the later file repeats step 2"
    assert (found["acc/top1"], found["trained_s"]) == ({2: None}, {1: 0.0, 2: 50.0})
    assert (first.started_at, second.ended_at) == tuple(datetime.fromtimestamp(BEGAN + at, UTC) for at in (10, 60))
    assert f"run {first.id} lars/seed-1: 4 points" in said.out
    assert f"/experiments/{experiment.id}" in said.out


@pytest.mark.ring("all")
def test_a_repeated_import_adds_only_what_is_new(client: Client, call: Call, logs: Path) -> None:
    assert call("import", "tensorboard", logs).code == 0
    before = experiment_of(client, "logs of ada")
    write_events(logs / "lars/seed-1" / "events.out.tfevents.3.host", [scalar("loss", 0.0625, 3, BEGAN + 30)])
    again = call("import", "tensorboard", logs)
    assert "(it was there)" in again.out
    assert experiment_of(client, "logs of ada").id == before.id
    runs = list(client.runs(before.id))
    assert len(runs) == 2
    assert series_of(client, runs[0].id)["loss"] == {1: 0.5, 2: 0.25, 3: 0.0625}


@pytest.mark.ring("all")
def test_an_import_goes_on_after_a_cut_connection(
    client: Client, site: Site, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: batches are stored, and the connection ends before their answers arrive."""
    monkeypatch.setattr(recording_client, "POINTS", 2)
    monkeypatch.setattr("bigbatch.connection.RETRY_DELAYS_S", ())
    real, sent, cuts = httpx.Client.request, [], {1, 3, 7}

    def request(self: httpx.Client, method: str, url: str, **options: Any) -> httpx.Response:
        answer = real(self, method, url, **options)
        if url.endswith("/points"):
            sent.append(url)
            if len(sent) in cuts:
                raise httpx.ReadError("connection reset")
        return answer

    monkeypatch.setattr(httpx.Client, "request", request)
    for _ in cuts:
        with pytest.raises(Unreachable):
            list(Import(client, "cut", "test").store(read_tensorboard(logs)))
    stored = list(Import(client, "cut", "test").store(read_tensorboard(logs)))
    assert [series_of(client, one.id)["loss"] for one in stored] == [{1: 0.5, 2: 0.25}, {1: 0.75, 2: 0.125}]
    assert len(list(client.runs(experiment_of(client, "cut").id))) == 2


def test_a_sender_sends_an_unconfirmed_batch_again_under_its_number(
    client: Client, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the answer to a batch is lost, and the caller goes on with other points."""
    experiment_id = client.record("sender", "test")
    (run_id,) = client.record_runs(experiment_id, [{"key": "one"}]).runs
    sender = client.point_sender(run_id, "rank-0")
    monkeypatch.setattr("bigbatch.connection.RETRY_DELAYS_S", ())
    real = httpx.Client.request

    def lost(self: httpx.Client, method: str, url: str, **options: Any) -> httpx.Response:
        raise httpx.ConnectTimeout("no answer")

    monkeypatch.setattr(httpx.Client, "request", lost)
    with pytest.raises(Unreachable):
        sender.send({"loss": ([1], [0.5])})
    monkeypatch.setattr(httpx.Client, "request", real)
    assert sender.send({"loss": ([2], [0.25])}) == 1
    assert series_of(client, run_id) == {"loss": {1: 0.5, 2: 0.25}}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("name", ["absent", "empty"])
def test_a_folder_without_event_files_is_an_error(client: Client, call: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    before = sum(1 for _ in client.experiments())
    said = call("import", "tensorboard", tmp_path / name)
    assert said.code == 2
    assert "event files" in said.err or "no folder" in said.err
    assert sum(1 for _ in client.experiments()) == before


def test_a_damaged_end_of_a_file_is_noted_at_its_run(client: Client, call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    records = [scalar("loss", 1.0, 1, BEGAN), scalar("loss", 1.0, 2**31, BEGAN)]
    write_events(folder / "events.out.tfevents.1.host", records)
    with (folder / "events.out.tfevents.1.host").open("ab") as file:
        file.write(b"\x07" * 40)
    assert call("import", "tensorboard", folder).code == 0
    (run,) = client.runs(experiment_of(client, "odd").id)
    assert series_of(client, run.id)["loss"] == {1: 1.0}
    assert "damaged" in client.run(run.id).notes


def test_neptunes_export_becomes_an_experiment(client: Client, call: Call, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    moment = datetime.fromtimestamp(BEGAN, UTC)
    rows = [
        {"attribute_path": "sys/name", "attribute_type": "string", "string_value": "night run"},
        {"attribute_path": "sys/tags", "attribute_type": "string_set", "string_set_value": ["lars", "two words"]},
        {"attribute_path": "config/lr", "attribute_type": "float", "float_value": 0.1},
        {"attribute_path": "config/amp", "attribute_type": "bool", "bool_value": True},
        {"attribute_path": "sys/creation_time", "attribute_type": "datetime", "datetime_value": moment},
        *(
            {
                "attribute_path": "metrics/loss",
                "attribute_type": "float_series",
                "float_value": 1 / (n + 1),
                "step": Decimal(n) / 2,
                "timestamp": moment,
            }
            for n in range(4)
        ),
        {"attribute_path": "logs", "attribute_type": "string_series", "string_value": "hello", "step": Decimal(1)},
    ]
    stamp = arrow.timestamp("ms", "UTC")
    schema = arrow.schema(
        [("project_id", arrow.string()), ("run_id", arrow.string()), ("attribute_path", arrow.string()),
         ("attribute_type", arrow.string()), ("step", arrow.decimal128(18, 6)), ("timestamp", stamp),
         ("int_value", arrow.int64()), ("float_value", arrow.float64()), ("string_value", arrow.string()),
         ("bool_value", arrow.bool_()), ("datetime_value", stamp), ("string_set_value", arrow.list_(arrow.string()))]
    )  # fmt: skip
    folder = tmp_path / "team_project"
    folder.mkdir()
    whole = [{"project_id": "team/project", "run_id": "RUN-1", **row} for row in rows]
    for number, part in enumerate((whole[:6], whole[6:])):
        parquet.write_table(arrow.Table.from_pylist(part, schema), folder / f"RUN-1_part_{number}.parquet")
    said = call("import", "neptune", tmp_path)
    assert said.code == 0, said.err
    assert "2 values of run" in said.err, "steps 0.5 and 1.5 are not whole"
    (found,) = client.runs(experiment_of(client, "team/project").id)
    assert found.values == {"name": "night run", "parameters.config/lr": 0.1, "parameters.config/amp": True}
    assert (found.tags, found.started_at) == (["lars"], moment)
    assert series_of(client, found.id)["metrics/loss"] == {0: 1.0, 1: pytest.approx(1 / 3)}
    assert call("import", "neptune", tmp_path, "--step-multiplier", 2).err == ""
    assert sorted(series_of(client, found.id)["metrics/loss"]) == [0, 1, 2, 3]
    (tmp_path / "other.parquet").write_bytes(b"PAR1")
    assert (call("import", "neptune", tmp_path).code, call("import", "neptune", tmp_path / "absent").code) == (2, 2)
