"""How long the table of runs takes with 30,000 stored runs, on SQLite and PostgreSQL: `make bench NAME=run_table`."""

import json
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings
from migrations.commands import upgrade
from store.session import engine_for
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.seed_table import add_runs
from tests.testing.servers import postgres

RESULT = Path(__file__).parent / "results" / "run_table.json"
EXPERIMENTS, RUNS_EACH, REPEATS = 300, 100, 9
COLUMNS = ["name", "owner", "tag", "batch", "optimizer", "loss", "best(heldout_accuracy)", "duration", "created"]
ASKED: list[dict[str, str]] = [
    {},
    {"sort": "-best(heldout_accuracy)"},
    {"sort": "batch, -loss"},
    {"sort": "name"},
    {"where": 'state = failed and batch > 256 and tag = "lars"'},
    {"where": "batch > 256", "sort": "duration"},
    {"where": "best(heldout_accuracy) > 90% and owner = ada", "sort": "-loss"},
    {"where": "optimizer = lars or rate < 0.3", "sort": "-duration"},
    {"where": "not (rate > 0.5) and cause != done", "sort": "cause"},
    {"where": "duration > 1h and created > -3d", "sort": "tag"},
    {"where": '"sweep 7" and mean(loss) < 0.2'},
    {"where": "name ~ LAMB", "sort": "-name, batch"},
]


def main() -> None:
    """Measure the median and the greatest time of each request, in milliseconds, on both databases."""
    report: dict[str, Any] = {"load": os.getloadavg()[0]}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = {"sqlite": f"sqlite:///{folder / 'table.db'}", "postgresql": stack.enter_context(postgres())}
        for name, url in urls.items():
            report[name] = _measure(url, folder)
    text = json.dumps(report, indent=1)
    RESULT.write_text(f"{text}\n")
    print(text)


def _measure(url: str, folder: Path) -> dict[str, Any]:
    upgrade(url)
    engine = engine_for(url)
    begin = time.monotonic()
    add_runs(engine, EXPERIMENTS, RUNS_EACH)
    analyze(engine)
    app = create_app(Settings(home=folder, database=url, token=TOKEN))
    client = TestClient(app, base_url="http://localhost", headers=WITH_TOKEN)
    times = {json.dumps(asked): _times(client, asked) for asked in ASKED}
    return {"runs": EXPERIMENTS * RUNS_EACH, "seeded_s": round(time.monotonic() - begin, 1), "requests": times}


def _times(client: TestClient, asked: dict[str, str]) -> dict[str, Any]:
    taken_ms, total = [], 0
    for _ in range(REPEATS):
        begin = time.perf_counter()
        answer = client.get("/api/v1/runs/table", params={**asked, "column": COLUMNS})
        taken_ms.append((time.perf_counter() - begin) * 1e3)
        answer.raise_for_status()
        total = answer.json()["total"]
    return {"total": total, "median_ms": round(median(taken_ms), 1), "most_ms": round(max(taken_ms), 1)}


def analyze(engine: Engine) -> None:
    """Do what PostgreSQL's autovacuum does within minutes: collect statistics."""
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")


if __name__ == "__main__":
    main()
