"""The API's answers are bounded in bytes, however many and however wide the metrics of the runs are."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.bounds import MAX_NAME_CHARS, MAX_SERIES, MAX_SERIES_BYTES
from contract.folder.events import Points
from store.metrics import points
from store.metrics.newest import MAX_LISTED, MAX_LISTED_BYTES, merge_latest
from store.run_table import names
from store.session import transaction
from store.tables.runs import Run

WIDE = {f"{number:04}" + "\N{GRINNING FACE}" * (MAX_NAME_CHARS - 4): 1.0 for number in range(MAX_SERIES)}
LISTS = ("/api/v1/runs", "/api/v1/experiments/1/runs")


def report(engine: Engine, run_id: int, values: dict[str, float]) -> None:
    """Store points of one step, as the ingestion does."""
    with transaction(engine) as db:
        changed = points.put_many(db, {run_id: [Points(attempt=1, at=1.0, step=1, values=dict(values))]}).newest
        run = db.get_one(Run, run_id)
        run.latest = merge_latest(run.latest, changed[run_id])


@pytest.mark.parametrize("path", LISTS)
def test_a_list_shows_some_metrics_of_a_run_and_counts_the_others(both: TestClient, engine: Engine, path: str) -> None:
    report(engine, 1, {f"m{number}": float(number) for number in range(MAX_LISTED + 50)} | {"loss": 0.5})
    item = both.get(path).json()["items"][0]
    assert item["latest"] == {f"m{number}": float(number) for number in range(MAX_LISTED)} | {"loss": 0.5}
    assert item["more_metrics"] == 50


@pytest.mark.parametrize("path", LISTS)
def test_a_list_has_the_metrics_that_were_asked_for(both: TestClient, engine: Engine, path: str) -> None:
    report(engine, 1, {f"m{number}": float(number) for number in range(MAX_LISTED + 50)} | {"loss": float("nan")})
    item = both.get(path, params={"metric": ["m249", "loss", "absent"]}).json()["items"][0]
    assert (item["latest"], item["more_metrics"]) == ({"loss": None, "m249": 249.0}, MAX_LISTED + 49)


def test_the_page_of_a_run_shows_all_its_metrics(both: TestClient, engine: Engine) -> None:
    values = {f"m{number}": float(number) for number in range(MAX_LISTED + 50)}
    report(engine, 1, values)
    answer = both.get("/api/v1/runs/1").json()
    assert (answer["latest"], answer["more_metrics"]) == (values, 0)
    assert sorted(answer["series"]) == sorted(values)


def test_an_answer_is_small_where_a_run_has_thousands_of_metrics_with_the_widest_names(
    both: TestClient, engine: Engine
) -> None:
    """Forces the fault: 2,000 such names made each run a megabyte and a half in every list."""
    report(engine, 1, WIDE)
    sizes = {path: len(both.get(path).content) for path in (*LISTS, "/api/v1/experiments")}
    assert max(sizes.values()) < MAX_LISTED_BYTES + 4_000
    assert len(both.get("/api/v1/runs/1").content) < 2.5 * MAX_SERIES_BYTES  # `latest` and `series`


def test_a_row_of_an_earlier_version_with_all_metrics_is_small_in_a_list(both: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        db.get_one(Run, 1).latest = dict(WIDE)
    assert len(both.get("/api/v1/runs").content) < MAX_LISTED_BYTES + 4_000


def test_the_names_of_fields_are_bounded_in_bytes(
    both: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "MAX_NAMES_BYTES", 10_000)
    report(engine, 1, WIDE)
    found = both.get("/api/v1/runs/names").json()["names"]
    metrics = [one["name"] for one in found if one["is_metric"]]
    assert 0 < sum(len(name.encode()) for name in metrics) <= 10_000
