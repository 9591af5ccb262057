"""Durations of ticks and lists with 10,000 queued and 500 live runs: `make bench NAME=scale`, about a minute.

The cluster is the fake Slurm (lab/fake_slurm), whose jobs are rows. The benchmark measures the service, its database,
its run folders, and calls of Slurm's commands, without a rate limit of the calls. Ticks are measured with one new step
of every live run, and with many simultaneous changes. The database is SQLite, or with BIGBATCH_DATABASE=postgresql://...
an empty PostgreSQL database with a separate report.
"""

import json
import multiprocessing
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import make_url

from api.app import create_app
from benchmarks.scale.cluster import Testbed
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.app import TICKS, Tick
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.launch import launch
from scheduler.ticks.poll import poll
from scheduler.ticks.reap import reap
from store.session import transaction
from store.tables.clusters import Cluster

LIVE, QUEUED, REPEATS, REQUESTS = 500, 10_000, 10, 100
LAUNCH_SIZES, MAX_TICKS = (1, 10, 50, 100, 200, 500, 1000), 40
RESULTS = Path(__file__).parents[1] / "results"
LISTS = ("/runs", "/runs?state=queued", "/experiments", "/experiments/1/runs", "/experiments/2/runs", "/experiments/2")


def main() -> None:
    """Measure, print a table and write the report."""
    with tempfile.TemporaryDirectory(prefix="bigbatch-scale-") as home:
        settings = Settings(home=Path(home), token=token_hex())
        report = measure(settings)
    database = make_url(settings.database_url()).get_backend_name()
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    document = {"machine": machine, "database": database, "queued": QUEUED, "live": LIVE, **report}
    RESULTS.mkdir(exist_ok=True)
    name = "scale.json" if database == "sqlite" else f"scale-{database}.json"
    (RESULTS / name).write_text(json.dumps(document, indent=1) + "\n")
    for name, row in report["ticks"].items():
        print(f"{name:34} {row['worst_s']:6.3f} s at worst, of {row['period_s']:g} s")
    for name, seconds in report["lists_p99_s"].items():
        print(f"{name:34} {1000 * seconds:6.1f} ms at the 99th percentile")


def measure(settings: Settings) -> dict[str, Any]:
    """Return the report's sections for ticks and lists."""
    testbed = Testbed.create(settings, LIVE)
    ticks = fill_queue(testbed)
    ticks |= measure_steady_state(testbed.with_job_limit(0))
    p99_s = measure_lists(settings)
    ticks |= measure_launches(testbed)
    ticks |= measure_events(testbed)
    ticks |= measure_stops(testbed)
    return {"ticks": ticks, "lists_p99_s": p99_s}


Row = dict[str, float]


def fill_queue(testbed: Testbed) -> dict[str, Row]:
    """Start 500 runs at the same time, and queue 10,000."""
    testbed.add_runs(LIVE, "live")
    submit_queued(testbed.site)
    testbed.add_runs(QUEUED, "queued")
    testbed.start_runs(started := testbed.oldest(State.PENDING, LIVE))
    assert len(started) == LIVE, testbed.state_counts()
    rows = {f"ingest, {LIVE} started": _row("ingest", [_seconds(lambda: ingest(testbed.site))])}
    assert testbed.count(State.RUNNING) == LIVE, testbed.state_counts()
    return rows


def measure_steady_state(testbed: Testbed) -> dict[str, Row]:
    """Measure every tick several times; before each, every live run writes one step, and nothing else changes."""
    ticks: dict[str, tuple[str, Tick]] = {name: (name, tick) for name, (tick, _) in TICKS.items()}
    ticks["launch, the search alone"] = ("launch", submit_queued)
    rows = {}
    for name, (period, tick) in ticks.items():
        durations_s = []
        for _ in range(REPEATS):
            testbed.step_runs(testbed.oldest(State.RUNNING, LIVE))
            expire_polls(testbed)
            durations_s.append(_seconds(partial(tick, testbed.site)))
        rows[name] = _row(period, durations_s)
    assert (testbed.count(State.QUEUED), testbed.count(State.RUNNING)) == (QUEUED, LIVE), testbed.state_counts()
    return rows


def measure_launches(testbed: Testbed) -> dict[str, Row]:
    """Run launch ticks, one per period, until Slurm has as many more jobs as it accepts; then queue as many runs."""
    rows = {}
    for size in LAUNCH_SIZES:
        limited = testbed.with_job_limit(size)
        queued, durations_s, began = testbed.count(State.QUEUED), list[float](), time.perf_counter()
        while testbed.count(State.PENDING, State.RUNNING) < limited.job_limit:
            assert len(durations_s) < MAX_TICKS, testbed.state_counts()
            time.sleep(max(0.0, began + len(durations_s) * TICKS["launch"][1] - time.perf_counter()))
            durations_s.append(_seconds(partial(launch, limited.site)))
        spent = {
            "ticks": len(durations_s),
            "until_s": time.perf_counter() - began,
            "sbatch_s": testbed.timer.seconds("sbatch"),
        }
        rows[f"launch, {size} go"] = {**_row("launch", durations_s), **spent}
        assert queued - testbed.count(State.QUEUED) == size, testbed.state_counts()
        testbed.add_runs(size, f"after {size}")
    return rows


def measure_events(testbed: Testbed) -> dict[str, Row]:
    """End all live runs at the same time, first with a final event, then by a failure without one; start others."""
    rows = {}
    ingest(testbed.site)
    testbed.finish_runs(live := testbed.oldest(State.RUNNING, LIVE))
    rows[f"ingest, {LIVE} wrote their last event"] = _row("ingest", [_seconds(lambda: ingest(testbed.site))])
    testbed.end_jobs(live, "COMPLETED", "0:0")
    expire_polls(testbed)
    rows[f"poll, {LIVE} have left"] = _row("poll", [_seconds(lambda: poll(testbed.site))])
    rows[f"reap, {LIVE} have left"] = _row("reap", [_seconds(lambda: reap(testbed.site))])
    testbed.start_runs(testbed.oldest(State.PENDING, LIVE))
    rows[f"ingest, {LIVE} others started"] = _row("ingest", [_seconds(lambda: ingest(testbed.site))])
    failed = testbed.oldest(State.RUNNING, LIVE)
    testbed.fail_ranks(failed)
    testbed.end_jobs(failed, "FAILED", "1:0")
    expire_polls(testbed)
    rows[f"poll, {LIVE} have failed"] = _row("poll", [_seconds(lambda: poll(testbed.site))])
    rows[f"ingest, {LIVE} have failed"] = _row("ingest", [_seconds(lambda: ingest(testbed.site))])
    assert (testbed.count(State.DONE), testbed.count(State.FAILED), testbed.count(State.RUNNING)) == (LIVE, LIVE, 0), (
        testbed.state_counts()
    )
    testbed.start_runs(testbed.oldest(State.PENDING, LIVE))
    ingest(testbed.site)
    return rows


def measure_stops(testbed: Testbed) -> dict[str, Row]:
    """Stop one run, and all runs, of the queued and of the live runs."""
    rows = {}
    assert (testbed.count(State.QUEUED), testbed.count(State.RUNNING)) == (QUEUED, LIVE), testbed.state_counts()
    for name, state, size in (
        ("one that waits", State.QUEUED, 1),
        ("one that trains", State.RUNNING, 1),
        (f"{LIVE} that train", State.RUNNING, LIVE),
        (f"{QUEUED} that wait", State.QUEUED, QUEUED),
    ):
        testbed.request_stop(testbed.oldest(state, size))
        durations_s = [_seconds(lambda: cancel(testbed.site))]
        while size == QUEUED and testbed.count(State.QUEUED):
            durations_s.append(_seconds(lambda: cancel(testbed.site)))
        rows[f"cancel, {name}"] = {**_row("cancel", durations_s), "ticks": len(durations_s)}
    expire_polls(testbed)
    poll(testbed.site)
    rows[f"ingest, {LIVE} were stopped"] = _row("ingest", [_seconds(lambda: ingest(testbed.site))])
    assert testbed.count(State.RUNNING) == 0, testbed.state_counts()
    return rows


def expire_polls(testbed: Testbed) -> None:
    """Make the next poll of the cluster due now."""
    with transaction(testbed.site.engine) as db:
        for cluster in db.query(Cluster):
            cluster.poll_after, cluster.asked_at = None, cluster.asked_at.replace(year=2000)


def measure_lists(settings: Settings) -> dict[str, float]:
    """Return the 99th percentile of the response time of each list."""
    found = {}
    with TestClient(create_app(settings), headers={"authorization": f"Bearer {settings.token}"}) as client:
        for path in LISTS:
            page = f"/api/v1{path}"
            assert client.get(page).status_code == 200, page
            durations_s = sorted(_seconds(partial(client.get, page)) for _ in range(REQUESTS))
            found[path] = durations_s[int(0.99 * REQUESTS) - 1]
    return found


def _row(tick: str, durations_s: list[float]) -> Row:
    return {"worst_s": max(durations_s), "median_s": statistics.median(durations_s), "period_s": TICKS[tick][1]}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
