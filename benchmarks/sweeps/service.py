"""The service that the benchmark measures, on this machine alone."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bigbatch.client import Client
from contract.api.search import SearchDetail

ROOT = Path(__file__).parents[2]
PATIENCE_S = 3600.0


@contextmanager
def service(home: Path, ranks: int) -> Iterator[Client]:
    """Run the service with SQLite and a folder as broker, as on a laptop; yield a client of it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    settings = {"BIGBATCH_HOME": str(home), "BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": str(ranks)}
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bigbatch.cli", "up", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # the service prints its URL when it is ready
        with Client(f"http://127.0.0.1:{port}", token=(home / "token").read_text()) as client:
            yield client
    finally:
        process.terminate()
        process.wait(60)


def wait(client: Client, experiment_id: int) -> SearchDetail:
    """Return the search of an experiment when it has ended."""
    until = time.monotonic() + PATIENCE_S
    while (found := client.search(experiment_id)).status != "ended":
        assert time.monotonic() < until, found.counts
        time.sleep(1)
    return found
