"""Points by HTTP: from a client's call to points that can be read, over a socket, in numbered batches."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from socket import create_server
from typing import Any

from bigbatch.client import Client
from bigbatch.errors import Unreachable
from contract.settings import Settings
from migrations.commands import upgrade

POINTS = 200_000  # of each case
CASES = {  # metrics, and points of a batch
    "one metric, batches of 1,000": (1, 1_000),  # the most that MLflow takes
    "one metric, batches of 50,000": (1, 50_000),
    "ten metrics, batches of 50,000": (10, 50_000),
}


def measure(home: Path) -> dict[str, dict[str, Any]]:
    """Return for each case the points per second until all are stored, and in which they come back as a file."""
    home.mkdir()
    settings = Settings(home=home, token=token_hex())
    upgrade(settings.database_url())
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_TOKEN": settings.token}
    api = subprocess.Popen([sys.executable, "-m", "api", "--port", str(port)], env=environment)
    try:
        with Client(f"http://127.0.0.1:{port}", settings.token) as client:
            _wait(client)
            experiment_id = client.record("points", "benchmark")
            return {name: _measure(client, experiment_id, name, *case) for name, case in CASES.items()}
    finally:
        api.terminate()
        api.wait()


def _wait(client: Client) -> None:
    while True:
        with suppress(Unreachable):
            client.health()
            return
        time.sleep(0.1)


def _measure(client: Client, experiment_id: int, name: str, metrics: int, batch: int) -> dict[str, Any]:
    (run_id,) = client.record_runs(experiment_id, [{"key": name}]).runs
    sender, steps = client.point_sender(run_id), batch // metrics
    began = time.perf_counter()
    for first in range(1, POINTS // metrics + 1, steps):
        numbers = list(range(first, first + steps))
        values = [1.0 / step for step in numbers]
        sender.send({f"metric_{number}": (numbers, values) for number in range(metrics)})
    sent_s = time.perf_counter() - began
    file = BytesIO()
    began = time.perf_counter()
    client.export_points(file, run_ids=[run_id])
    read_s = time.perf_counter() - began
    assert file.getvalue().count(b"\n") == POINTS + 1
    return {"points_per_s": round(POINTS / sent_s), "exported_per_s": round(POINTS / read_s)}
