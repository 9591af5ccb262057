"""Long curves: bytes of a point, and the time of a picture of 1,000 buckets at random zooms."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from api.app import create_app
from contract.settings import Settings
from contract.spec.expanded import read_experiment
from migrations.commands import upgrade
from store.lifecycle import creation
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import engine_for, transaction

BUCKETS, REQUESTS = 1000, 300
PART = 100_000  # points in a transaction
OVERLAY, OVERLAY_POINTS = 50, 100_000
ROWS_PER_PAGE = 200_000
SPEC = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "local"},
}
Row = dict[str, Any]


def measure(home: Path, size: int) -> Row:
    """Return the figures of one curve of so many float32 values with noise."""
    settings, engine = _create(home)
    before = _bytes(engine)
    began = time.perf_counter()
    (series_id,) = _add_runs(engine, 1)
    for first in range(1, size + 1, PART):
        with transaction(engine) as db:
            write_points(db, {series_id: _noisy(first, min(PART, size + 1 - first))})
    seconds = time.perf_counter() - began
    row: Row = {"points": size, "bytes_a_point": round((_bytes(engine) - before) / size, 2)}
    row |= {"written_per_s": round(size / seconds)}
    with TestClient(create_app(settings), headers={"authorization": f"Bearer {settings.token}"}) as client:
        row["picture of all"] = _times(lambda: _get(client, "/runs/1/curves", buckets=BUCKETS))
        row["picture of a random part"] = _times(lambda: _get(client, "/runs/1/curves", **_part(size)))
        if size <= 10**6:
            row["all points by pages, s"] = round(_seconds(lambda: _read_all(client)), 2)
    engine.dispose()
    return row


def measure_overlay(home: Path) -> Row:
    """Return the time of one request for many curves of an experiment."""
    settings, engine = _create(home)
    for series_id in _add_runs(engine, OVERLAY):
        with transaction(engine) as db:
            write_points(db, {series_id: _noisy(1, OVERLAY_POINTS)})
    with TestClient(create_app(settings), headers={"authorization": f"Bearer {settings.token}"}) as client:
        row: Row = {"curves": OVERLAY, "points": OVERLAY_POINTS}
        row |= _times(lambda: _get(client, "/experiments/1/curves", buckets=BUCKETS), 30)
    engine.dispose()
    return row


def _create(home: Path) -> tuple[Settings, Engine]:
    home.mkdir()
    settings = Settings(home=home, token=token_hex())
    upgrade(settings.database_url())
    return settings, engine_for(settings.database_url())


def _add_runs(engine: Engine, count: int) -> list[int]:
    document = {"name": "points", "base": SPEC, "axes": {"seed": list(range(count))}}
    with transaction(engine) as db:
        _, run_ids = creation.create(db, read_experiment(document))
        known = ids_of(db, [(run_id, "loss") for run_id in run_ids], run_ids)
    return [known[run_id, "loss"] for run_id in run_ids]


def _noisy(first: int, count: int) -> Points:
    steps = np.arange(first, first + count)
    noise = np.random.default_rng(first).standard_normal(count)
    return Points(steps, (3.0 * steps**-0.2 + 0.05 * noise).astype(np.float32).astype(np.float64))


def _part(size: int) -> dict[str, int]:
    length = int(size ** random.uniform(0.3, 1.0))
    first = random.randint(1, max(1, size - length))
    return {"from": first, "to": first + length, "buckets": BUCKETS}


def _get(client: TestClient, path: str, **asked: Any) -> Row:
    answer = client.get(f"/api/v1{path}", params={"name": "loss", **asked})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _read_all(client: TestClient) -> None:
    after, more = -1, True
    while more:
        found = _get(client, "/runs/1/points", after=after, limit=ROWS_PER_PAGE)
        after, more = found["series"]["loss"]["steps"][-1], found["more"]


def _times(work: Callable[[], object], requests: int = REQUESTS) -> dict[str, float]:
    work()
    seconds = sorted(_seconds(work) for _ in range(requests))
    return {
        "median_ms": round(1000 * seconds[requests // 2], 1),
        "p99_ms": round(1000 * seconds[-1 - requests // 100], 1),
    }


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _bytes(engine: Engine) -> int:
    """Return the bytes of all pages in use."""
    with engine.connect() as connection:
        pages, free, size = (
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)
