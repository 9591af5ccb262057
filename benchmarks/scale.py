"""Do ticks and lists keep their time with 10,000 queued and 500 live runs? `make bench NAME=scale`, half a minute.

The cluster is the stand-in Slurm (lab/standin), whose jobs are rows: what is measured is the service, its database, its
run folders, and what it costs to call Slurm's commands and to read their answers. The budget of calls is left open.
"""

import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from api.app import create_app
from contract.event import Points, Started
from contract.experiment import ExperimentSpec
from contract.run import State
from contract.settings import Settings
from lab.standin import programs
from lab.standin.stage import Settings as Standing
from lab.standin.stage import Stage
from migrations.commands import upgrade
from scheduler.app import PERIODS_S
from scheduler.clusters.slurm import Slurm
from scheduler.collect import collect
from scheduler.launch import launch
from scheduler.look import look
from scheduler.recover import recover
from scheduler.site import Site
from scheduler.stop import stop
from scheduler.sweep import sweep
from store import runs
from store.session import engine_for, snapshot, transaction
from store.tables import Run

LIVE, QUEUED, TICKS, ASKED = 500, 10_000, 10, 100
RESULT = Path(__file__).parent / "results" / "scale.json"
LISTS = ("/runs", "/runs?state=queued", "/experiments", "/experiments/1/runs", "/experiments/2/runs", "/experiments/2")
SPEC = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "slurm"},
}


def main() -> None:
    """Measure, print the table and write the report."""
    with tempfile.TemporaryDirectory(prefix="bigbatch-scale-") as home:
        report = measure(Settings(home=Path(home)))
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "queued": QUEUED, "live": LIVE, **report}, indent=1) + "\n")
    for name, row in report["ticks"].items():
        print(f"{name:8} {row['worst_s']:6.3f} s at worst, of {row['period_s']:g} s")
    for name, seconds in report["lists_p99_s"].items():
        print(f"{name:24} {1000 * seconds:6.1f} ms at the 99th percentile")


def measure(settings: Settings) -> dict[str, Any]:
    upgrade(settings.database_url())
    stage = Stage.make(settings.home / "slurm", Standing(carried=0, hosts=1, cpus=LIVE, max_submit=LIVE))
    os.environ["PATH"] = os.pathsep.join([str(programs.write(stage.folder)), os.environ["PATH"]])
    site = Site(engine_for(settings.database_url()), {"slurm": Slurm()}, settings.runs_folder(), local_ranks=1)
    for size in (LIVE, QUEUED):
        axes = {"seed": list(range(size))}
        with transaction(site.engine) as db:
            runs.create(db, ExperimentSpec.model_validate({"name": "many", "base": SPEC, "axes": axes}))
    launch(site)
    begin(site)
    ticks: dict[str, Callable[[Site], None]] = {
        "launch": launch,
        "collect": collect,
        "look": look,
        "stop": stop,
        "recover": recover,
        "sweep": sweep,
    }
    told = {name: _worst(site, name, tick) for name, tick in ticks.items()}
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.experiment_id == 1)
    told["stop all"] = {"worst_s": _seconds(lambda: stop(site)), "period_s": PERIODS_S["stop"]}
    return {"ticks": told, "lists_p99_s": lists(settings)}


def begin(site: Site) -> None:
    """Let every live run say that it has begun, and what its first steps came to."""
    with snapshot(site.engine) as db:
        live = runs.in_state(db, State.PENDING)
    assert len(live) == LIVE, len(live)
    for run in live:
        started = Started(attempt=1, at=0.0, world=1, hosts=["h"], device="cpu", steps=44, versions={})
        _say(site, run, started.model_dump_json())
    collect(site)


def _worst(site: Site, name: str, tick: Callable[[Site], None]) -> dict[str, float]:
    """The longest of some ticks; before each, every live run has taken a step."""
    took = []
    for step in range(1, TICKS + 1):
        with snapshot(site.engine) as db:
            live = runs.in_state(db, State.RUNNING)
        for run in live:
            values = {"loss": 1.0, "learning_rate": 0.1, "samples_per_s": 1.0, "compute_s": 0.1}
            _say(site, run, Points(attempt=1, at=0.0, step=run.step + step, values=dict(values)).model_dump_json())
        took.append(_seconds(lambda: tick(site)))
    return {"worst_s": max(took), "median_s": statistics.median(took), "period_s": PERIODS_S[name]}


def _say(site: Site, run: Run, line: str) -> None:
    with site.folder_of(run).events.open("a") as file:
        file.write(line + "\n")


def lists(settings: Settings) -> dict[str, float]:
    """The 99th percentile of the time that each list takes to answer, at its largest page where it has pages."""
    found = {}
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        for path in LISTS:
            page = f"/api/v1{path}"
            assert client.get(page).status_code == 200, page
            took = sorted(_seconds(lambda page=page: client.get(page)) for _ in range(ASKED))  # type: ignore[misc]
            found[path] = took[int(0.99 * ASKED) - 1]
    return found


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
