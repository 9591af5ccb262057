"""Durations of ticks and queries beside 10^3, 10^4 and 10^5 ended runs with a thousand points each.

`make bench NAME=growth` takes half an hour and 3 GB of disk below $TMPDIR with SQLite. With
BIGBATCH_DATABASE=postgresql://... it uses an empty PostgreSQL database, 8 GB, and a separate report. 500 runs are live
and 10,000 queued on the fake Slurm, as in `make bench NAME=scale`. GROWTH_RUNS=1000,10000 limits the sizes. The
processor time is that of the service's process: other programs on the machine change it less than the durations.
"""

import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, make_url, select, update

from api.app import create_app
from benchmarks.growth.ended_runs import SWEEP, add_ended_runs, size_bytes, vacuum
from benchmarks.scale.benchmark import (
    LIVE,
    QUEUED,
    RESULTS,
    expire_polls,
    fill_queue,
)
from benchmarks.scale.cluster import Testbed
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.app import TICKS
from scheduler.ticks.prune import prune
from store.metrics.retention import Retention
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run

SIZES = (1_000, 10_000, 100_000)
DAYS = 100  # over which the runs ended
REPEATS, REQUESTS = 10, 50  # of a tick, of a query
Row = dict[str, float]


def main() -> None:
    """Measure, print a table and write the report."""
    sizes = [int(size) for size in os.environ.get("GROWTH_RUNS", "").split(",") if size] or list(SIZES)
    with tempfile.TemporaryDirectory(prefix="bigbatch-growth-") as home:
        settings = Settings(home=Path(home), token=token_hex())
        rows = measure(settings, sizes)
    database = make_url(settings.database_url()).get_backend_name()
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    machine["load"] = os.getloadavg()[0]  # of a minute; far above the cores, only processor times mean anything
    document = {"machine": machine, "database": database, "queued": QUEUED, "live": LIVE, "sizes": rows}
    RESULTS.mkdir(exist_ok=True)
    name = "growth.json" if database == "sqlite" else f"growth-{database}.json"
    (RESULTS / name).write_text(json.dumps(document, indent=1) + "\n")


def measure(settings: Settings, sizes: list[int]) -> list[dict[str, Any]]:
    """Return a section of the report for each number of ended runs."""
    testbed = Testbed.create(settings, LIVE)
    fill_queue(testbed)
    engine, points, rows = testbed.site.engine, 0, list[dict[str, Any]]()
    with transaction(engine) as db:  # runs that are inserted later end earlier, and were created earlier too
        for table in (Run, Experiment):
            db.execute(update(table).values(created_at=now() - timedelta(days=DAYS + 1)))
    for before, size in zip([0, *sizes], sizes, strict=False):
        began = time.perf_counter()
        points += add_ended_runs(engine, size - before, timedelta(days=DAYS))
        vacuum(engine)
        fill_s = time.perf_counter() - began
        head = {"ended_runs": size, "points": points, "bytes": size_bytes(engine), "fill_s": fill_s}
        rows.append({**head, **measure_one(testbed, settings)})
        _print(rows[-1])
    rows[-1]["ticks"] |= measure_prune(testbed)
    return rows


def measure_one(testbed: Testbed, settings: Settings) -> dict[str, Any]:
    """Return the durations of ticks and queries on a database as it is."""
    ticks = {name: measure_tick(testbed.with_job_limit(0), name) for name in TICKS}
    queries = {}
    with TestClient(create_app(settings), headers={"authorization": f"Bearer {settings.token}"}) as client:
        for path in _paths(testbed.site.engine):
            page = path if path == "/metrics" else f"/api/v1{path}"
            assert client.get(page).status_code == 200, page
            queries[path] = _row([_times(partial(client.get, page)) for _ in range(REQUESTS)])
    return {"ticks": ticks, "queries": queries}


def measure_tick(testbed: Testbed, name: str) -> Row:
    """Measure a tick several times; before each, every live run writes one step, and polls are due."""
    tick, period_s = TICKS[name]
    times = []
    for _ in range(REPEATS):
        testbed.step_runs(testbed.oldest(State.RUNNING, LIVE))
        expire_polls(testbed)
        times.append(_times(partial(tick, testbed.site)))
    return _row(times) | {"period_s": period_s}


def measure_prune(testbed: Testbed) -> dict[str, Row]:
    """Remove the points of the oldest tenth of the runs, for some ticks; return the durations and the runs per tick."""
    pruned = replace(testbed.site, retention=Retention.of_days(0.9 * DAYS, None))
    row = _row([_times(partial(prune, pruned)) for _ in range(REPEATS)])
    with snapshot(testbed.site.engine) as db:
        runs = db.scalar(select(func.count()).where(Run.points_removed_at.is_not(None))) or 0
    return {"prune, old points": row | {"period_s": TICKS["prune"][1], "runs_per_tick": runs / REPEATS}}


def _times(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that the work took, and the processor seconds of this process."""
    began, processor_began = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - processor_began


def _row(times: list[tuple[float, float]]) -> Row:
    seconds, processor_s = sorted(wall for wall, _ in times), [processor for _, processor in times]
    medians = {"median_s": statistics.median(seconds), "processor_median_s": statistics.median(processor_s)}
    return {"p99_s": seconds[max(0, int(0.99 * len(seconds)) - 1)], "worst_s": seconds[-1], **medians}


def _paths(engine: Engine) -> list[str]:
    """Return every page and list of the dashboard and the command, with filters that match much, little and nothing."""
    with snapshot(engine) as db:
        newest = db.scalar(select(func.max(Run.id)).where(Run.state == State.DONE))
        in_sweep = select(Run.experiment_id).where(Run.number == SWEEP - 1, Run.state == State.DONE)
        sweep = db.scalar(in_sweep.order_by(Run.id.desc()).limit(1))
    moments = {"much": timedelta(days=DAYS / 2), "little": timedelta(hours=3), "nothing": timedelta(days=-1)}
    since = [quote((now() - age).isoformat(timespec="seconds")) for age in moments.values()]
    return [
        *("/runs", "/runs?limit=500", f"/runs?before={(newest or 0) // 2}"),
        *(f"/runs?state={state}" for state in ("queued", "running", "done", "failed", "paused")),
        *(f"/runs?since={moment}" for moment in since),
        *(f"/runs?state=failed&since={moment}" for moment in since),
        *("/experiments", "/experiments?limit=500", "/experiments?name=ended", "/experiments?name=nothing"),
        *(f"/experiments?since={moment}" for moment in since),
        *(f"/experiments/{sweep}{part}" for part in ("", "/runs", "/failures", "/checkpoints", "/points")),
        *(f"/runs/{newest}{part}" for part in ("", "/points", "/points?name=loss")),
        *("/metrics", "/clusters"),
    ]


def _print(row: dict[str, Any]) -> None:
    print(f"{row['ended_runs']:,} ended runs, {row['points']:,} points, {row['bytes'] / 1e9:.1f} GB")
    for name, one in (row["ticks"] | row["queries"]).items():
        processor = f"{1000 * one['processor_median_s']:6.1f} ms of the processor"
        print(
            f"  {name:60} {1000 * one['p99_s']:7.1f} ms, median {1000 * one['median_s']:6.1f}, {processor}", flush=True
        )
