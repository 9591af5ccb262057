"""Do ticks and lists keep their time with 10,000 queued and 500 live runs? `make bench NAME=scale`, a minute.

The cluster is the stand-in Slurm (lab/fake_slurm), whose jobs are rows: what is measured is the service, its database,
its run folders, and what it costs to call Slurm's commands and to read their answers. The budget of calls is left
open. Ticks are measured beside steps alone, one of every live run, and as things happen all at once. The database is
SQLite, or with BIGBATCH_DATABASE=postgresql://... an empty one of a PostgreSQL server, whose report is one of its own.
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
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import make_url

from api.app import create_app
from benchmarks.scale.cluster import World
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.app import PERIODS_S, TICKS
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.launch import launch_promptly
from scheduler.ticks.poll import look
from scheduler.ticks.reap import sweep
from store.session import transaction
from store.tables import Cluster

LIVE, QUEUED, TIMES, ASKED = 500, 10_000, 10, 100
LAUNCHED, TICKS_AT_MOST = (1, 10, 50, 100, 200, 500, 1000), 40
RESULTS = Path(__file__).parents[1] / "results"
LISTS = ("/runs", "/runs?state=queued", "/experiments", "/experiments/1/runs", "/experiments/2/runs", "/experiments/2")


def main() -> None:
    """Measure, print the table and write the report."""
    with tempfile.TemporaryDirectory(prefix="bigbatch-scale-") as home:
        settings = Settings(home=Path(home))
        report = measure(settings)
    database = make_url(settings.database_url()).get_backend_name()
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    told = {"machine": machine, "database": database, "queued": QUEUED, "live": LIVE, **report}
    RESULTS.mkdir(exist_ok=True)
    name = "scale.json" if database == "sqlite" else f"scale-{database}.json"
    (RESULTS / name).write_text(json.dumps(told, indent=1) + "\n")
    for name, row in report["ticks"].items():
        print(f"{name:34} {row['worst_s']:6.3f} s at worst, of {row['period_s']:g} s")
    for name, seconds in report["lists_p99_s"].items():
        print(f"{name:34} {1000 * seconds:6.1f} ms at the 99th percentile")


def measure(settings: Settings) -> dict[str, Any]:
    world = World.make(settings, LIVE)
    ticks = fill(world)
    ticks |= nothing_new(world.admits(0))
    p99_s = lists(settings)
    ticks |= launches(world)
    ticks |= events(world)
    ticks |= stops(world)
    return {"ticks": ticks, "lists_p99_s": p99_s}


Row = dict[str, float]


def fill(world: World) -> dict[str, Row]:
    """500 runs begin at once, and 10,000 wait."""
    world.add(LIVE, "live")
    launch(world.site)
    world.add(QUEUED, "queued")
    world.begin(begun := world.some(State.PENDING, LIVE))
    assert len(begun) == LIVE, world.page()
    told = {f"collect, {LIVE} began": _row("collect", [_seconds(lambda: collect(world.site))])}
    assert world.count(State.RUNNING) == LIVE, world.page()
    return told


def nothing_new(world: World) -> dict[str, Row]:
    """Every tick, some times over: every live run has told a step, and nothing else happens."""
    ticks: dict[str, tuple[str, Callable[[Site], None]]] = {name: (name, tick) for name, tick in TICKS.items()}
    ticks["launch, the search alone"] = ("launch", launch)
    told = {}
    for name, (period, tick) in ticks.items():
        took = []
        for _ in range(TIMES):
            world.step(world.some(State.RUNNING, LIVE))
            at_once(world)
            took.append(_seconds(partial(tick, world.site)))
        told[name] = _row(period, took)
    assert (world.count(State.QUEUED), world.count(State.RUNNING)) == (QUEUED, LIVE), world.page()
    return told


def launches(world: World) -> dict[str, Row]:
    """Ticks, one in each period, until so many more jobs as Slurm takes have gone; as many wait again afterwards."""
    told = {}
    for size in LAUNCHED:
        admitting = world.admits(size)
        waiting, took, began = world.count(State.QUEUED), list[float](), time.perf_counter()
        while world.count(State.PENDING, State.RUNNING) < admitting.room:
            assert len(took) < TICKS_AT_MOST, world.page()
            time.sleep(max(0.0, began + len(took) * PERIODS_S["launch"] - time.perf_counter()))
            took.append(_seconds(partial(launch_promptly, admitting.site)))
        spent = {"ticks": len(took), "until_s": time.perf_counter() - began, "sbatch_s": world.told.seconds("sbatch")}
        told[f"launch, {size} go"] = {**_row("launch", took), **spent}
        assert waiting - world.count(State.QUEUED) == size, world.page()
        world.add(size, f"after {size}")
    return told


def events(world: World) -> dict[str, Row]:
    """All live runs end at once, by their own last word and by failing without one, and others begin at once."""
    told = {}
    collect(world.site)
    world.finish(live := world.some(State.RUNNING, LIVE))
    told[f"collect, {LIVE} said their last"] = _row("collect", [_seconds(lambda: collect(world.site))])
    world.end_jobs(live, "COMPLETED", "0:0")
    at_once(world)
    told[f"look, {LIVE} have left"] = _row("look", [_seconds(lambda: look(world.site))])
    told[f"sweep, {LIVE} have left"] = _row("sweep", [_seconds(lambda: sweep(world.site))])
    world.begin(world.some(State.PENDING, LIVE))
    told[f"collect, {LIVE} others began"] = _row("collect", [_seconds(lambda: collect(world.site))])
    failed = world.some(State.RUNNING, LIVE)
    world.fall(failed)
    world.end_jobs(failed, "FAILED", "1:0")
    at_once(world)
    told[f"look, {LIVE} have failed"] = _row("look", [_seconds(lambda: look(world.site))])
    told[f"collect, {LIVE} have failed"] = _row("collect", [_seconds(lambda: collect(world.site))])
    assert (world.count(State.DONE), world.count(State.FAILED), world.count(State.RUNNING)) == (LIVE, LIVE, 0), (
        world.page()
    )
    world.begin(world.some(State.PENDING, LIVE))
    collect(world.site)
    return told


def stops(world: World) -> dict[str, Row]:
    """One run and all, of those that train and of those that wait."""
    told = {}
    assert (world.count(State.QUEUED), world.count(State.RUNNING)) == (QUEUED, LIVE), world.page()
    for name, state, size in (
        ("one that waits", State.QUEUED, 1),
        ("one that trains", State.RUNNING, 1),
        (f"{LIVE} that train", State.RUNNING, LIVE),
        (f"{QUEUED} that wait", State.QUEUED, QUEUED),
    ):
        world.want_stop(world.some(state, size))
        took = [_seconds(lambda: stop(world.site))]
        while size == QUEUED and world.count(State.QUEUED):
            took.append(_seconds(lambda: stop(world.site)))
        told[f"stop, {name}"] = {**_row("stop", took), "ticks": len(took)}
    at_once(world)
    look(world.site)
    told[f"collect, {LIVE} were stopped"] = _row("collect", [_seconds(lambda: collect(world.site))])
    assert world.count(State.RUNNING) == 0, world.page()
    return told


def at_once(world: World) -> None:
    """Let the next look be made now, however late it was due."""
    with transaction(world.site.engine) as db:
        for cluster in db.query(Cluster):
            cluster.look_after, cluster.asked_at = None, cluster.asked_at.replace(year=2000)


def lists(settings: Settings) -> dict[str, float]:
    """The 99th percentile of the time that each list takes to answer, at its largest page where it has pages."""
    found = {}
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        for path in LISTS:
            page = f"/api/v1{path}"
            assert client.get(page).status_code == 200, page
            took = sorted(_seconds(partial(client.get, page)) for _ in range(ASKED))
            found[path] = took[int(0.99 * ASKED) - 1]
    return found


def _row(tick: str, took_s: list[float]) -> Row:
    return {"worst_s": max(took_s), "median_s": statistics.median(took_s), "period_s": PERIODS_S[tick]}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
