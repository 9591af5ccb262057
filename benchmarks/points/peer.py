"""MLflow's log_batch on SQLite, installed into an environment of its own, beside which ingestion is measured."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("mlflow-skinny", "sqlalchemy", "alembic", "pandas")
POINTS, BATCH = 20_000, 1_000  # a batch has at most a thousand metrics

SCRIPT = """
import json, sys, time
import mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
points, batch, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
client = MlflowClient("sqlite:///" + folder + "/mlflow.db")
run = client.create_run(client.create_experiment("points", artifact_location=folder)).info.run_id
client.log_batch(run, [Metric("warm", 1.0, 0, 0)])
began, worked = time.perf_counter(), time.process_time()
for first in range(0, points, batch):
    now = int(time.time() * 1000)
    client.log_batch(run, [Metric("loss", 1.0 / (step + 1), now, step) for step in range(first, first + batch)])
seconds, processor_s = time.perf_counter() - began, time.process_time() - worked
assert len(client.get_metric_history(run, "loss")) == points
print(json.dumps({"version": mlflow.__version__, "points_per_s": round(points / seconds),
                  "points_per_processor_s": round(points / processor_s)}))
"""


def measure(folder: Path) -> dict[str, Any]:
    """Return MLflow's version and points per second, without a server between: its fastest way."""
    folder.mkdir()
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    words = [str(python), "-c", SCRIPT, str(POINTS), str(BATCH), str(folder)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
