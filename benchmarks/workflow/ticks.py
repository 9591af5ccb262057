"""A workflow of 10,000 runs on SQLite and PostgreSQL: `python -m benchmarks.workflow.ticks`.

Ten levels of ten steps of 100 runs; each step needs two steps of the level before it. The workflow is carried out level
by level without a cluster: the runs of a level end, and the ticks that start the next level are timed, and requests of
the experiment's page. The greatest time of a tick counts, because a tick that takes long delays all others.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, select, update

from api.app import create_app
from benchmarks.run_table import analyze
from contract.lifecycle.state import State
from contract.lifecycle.step import OPEN_STEPS
from contract.settings import Settings
from contract.spec.expanded import read_experiment
from migrations.commands import upgrade
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.lifecycle import creation
from store.session import engine_for, transaction
from store.tables.base import now
from store.tables.runs import Run
from store.tables.steps import Step
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.servers import postgres

RESULT = Path(__file__).parents[1] / "results" / "workflow_ticks.json"
LEVELS, STEPS, RUNS, REPEATS = 10, 10, 100, 9
BASE = {"kind": "program", "command": "work {x}", "launcher": "plain", "parameters": {"x": 0}}


def main() -> None:
    """Measure both databases, print the figures and write the report."""
    report: dict[str, Any] = {"load": os.getloadavg()[0], "runs": LEVELS * STEPS * RUNS, "steps": LEVELS * STEPS}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bigbatch-workflow-")))
        urls = {"sqlite": f"sqlite:///{folder / 'workflow.db'}", "postgresql": stack.enter_context(postgres())}
        for name, url in urls.items():
            report[name] = measure(url, folder)
    text = json.dumps(report, indent=1)
    RESULT.write_text(f"{text}\n")
    print(text)


def measure(url: str, folder: Path) -> dict[str, Any]:
    """Carry out the workflow on a database; return the seconds of its ticks and requests."""
    upgrade(url)
    engine = engine_for(url)
    context = Context(engine, {"local": Local()}, folder / "runs", local_ranks=2)
    with transaction(engine) as db:
        experiment_id, _ = creation.create(db, read_experiment(document()))
    begins, rest = list[float](), list[float]()
    for _ in range(LEVELS):
        rest += [_time(lambda: plan(context)) for _ in range(REPEATS)]
        _end_runs(engine)
        while _due(engine):
            begins.append(_time(lambda: plan(context)))
    app = create_app(Settings(home=folder, database=url, token=TOKEN))
    client = TestClient(app, base_url="http://localhost", headers=WITH_TOKEN)
    found = client.get(f"/api/v1/experiments/{experiment_id}/steps").raise_for_status().json()
    assert [step["state"] for step in found["steps"]] == ["done"] * LEVELS * STEPS
    paths = {"experiment": "", "steps": "/steps", "runs": "/runs?limit=50"}
    requests = {name: _request(client, f"/api/v1/experiments/{experiment_id}{path}") for name, path in paths.items()}
    return {
        "tick_at_rest_s": _summary(rest),
        "tick_that_starts_steps_s": _summary(begins),
        "requests": requests,
    }


def document() -> dict[str, Any]:
    """Return the workflow."""
    steps = []
    for level in range(LEVELS):
        for place in range(STEPS):
            needs = [f"s{level - 1}_{other % STEPS}" for other in (place, place + 1)] if level else []
            axes = {"parameters.x": list(range(RUNS))}
            steps.append({"name": f"s{level}_{place}", "needs": needs, "base": BASE, "axes": axes})
    return {"name": "ten thousand runs", "steps": steps}


def _due(engine: Engine) -> bool:
    """Return whether a step could begin or end: less than a level of runs is queued, and a step has not ended."""
    with engine.connect() as connection:
        queued = connection.execute(select(func.count()).where(Run.state == State.QUEUED)).scalar_one()
        going = connection.execute(select(func.count()).where(Step.state.in_(OPEN_STEPS))).scalar_one()
    return bool(going) and queued < STEPS * RUNS


def _end_runs(engine: Engine) -> None:
    with transaction(engine) as db:
        db.execute(update(Run).where(Run.state == State.QUEUED).values(state=State.DONE, ended_at=now()))
    analyze(engine)


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _request(client: TestClient, path: str) -> dict[str, float]:
    taken = [_time(lambda: client.get(path).raise_for_status()) for _ in range(REPEATS)]
    return {**_summary(taken), "bytes": len(client.get(path).content)}


def _summary(seconds: list[float]) -> dict[str, float]:
    return {"median": round(median(seconds), 4), "most": round(max(seconds), 4)}


if __name__ == "__main__":
    main()
