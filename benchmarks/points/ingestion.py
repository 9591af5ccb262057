"""Ingestion: from a run's folder to points that the API answers, as the scheduler's tick does it."""

import json
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

from sqlalchemy import select

from benchmarks.scale.cluster import Testbed
from contract.folder.events import Started
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.metrics import curves, series
from store.session import snapshot
from store.tables.points import Series
from store.tables.runs import Run

POINTS = 200_000  # of each case
CASES = {"one metric a step": 1, "ten metrics a step": 10, "fifty metrics a step": 50}


def measure(home: Path, database: str = "") -> dict[str, dict[str, int]]:
    """Return for each case the points per second until all of them can be read; by default in SQLite."""
    home.mkdir()
    testbed = Testbed.create(Settings(home=home, database=database, token=token_hex()), len(CASES))
    testbed.add_runs(len(CASES), "points")
    submit_queued(testbed.site)
    found = {}
    for number, (name, metrics) in enumerate(CASES.items()):
        with snapshot(testbed.site.engine) as db:
            run = db.scalars(select(Run).order_by(Run.id).offset(number).limit(1)).one()
        events = testbed.site.folder_of(run).events
        _append(events, [_start()])
        while _state(testbed, run.id) is not State.RUNNING:
            ingest(testbed.site)
        _append(events, [_point(step, metrics) for step in range(1, POINTS // metrics + 1)])
        began, worked = time.perf_counter(), time.process_time()
        while _stored(testbed, run.id) < POINTS:
            ingest(testbed.site)
        seconds, processor_s = time.perf_counter() - began, time.process_time() - worked
        found[name] = {"points_per_s": round(POINTS / seconds), "points_per_processor_s": round(POINTS / processor_s)}
    testbed.site.engine.dispose()
    return found


def _start() -> str:
    hosts = ["h"]
    return Started(
        attempt=1, at=time.time(), world=1, hosts=hosts, device="cpu", steps=POINTS, versions={}
    ).model_dump_json()


def _point(step: int, metrics: int) -> str:
    values = {f"metric_{number}": 1.0 / (step + number) for number in range(metrics)}
    return json.dumps({"kind": "points", "attempt": 1, "at": time.time(), "step": step, "values": values})


def _append(path: Path, lines: list[str]) -> None:
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def _state(testbed: Testbed, run_id: int) -> Any:
    with snapshot(testbed.site.engine) as db:
        return db.get_one(Run, run_id).state


def _stored(testbed: Testbed, run_id: int) -> int:
    with snapshot(testbed.site.engine) as db:
        found = curves.whole(db, series.states(db, Series.run_id == run_id))
        return sum(len(points.steps) for _, points in found)
