"""Latency and throughput of the folder broker compared with Redis: `make bench NAME=broker`, about 30 s.

This process sends messages to another process, first with pauses (latency), then as fast as possible (throughput). A
team uses Redis, a laptop the folder.
"""

import json
import multiprocessing
import platform
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kombu import Connection

from scheduler.folder_broker import URL

TICKS, BURST, PACE_S = 100, 2000, 0.1
RESULT = Path(__file__).parent / "results" / "broker.json"


def main() -> None:
    """Measure every available broker, print a table and write the report."""
    rows = [measure(name, url, options) for name, url, options in brokers()]
    base = next((row for row in rows if row["broker"] == "redis"), rows[0])
    for row in rows:
        latency, throughput = row["latency_s"] / base["latency_s"], row["messages_per_s"] / base["messages_per_s"]
        print(f"{row['broker']:8} median latency {latency:6.1f} x, throughput {throughput:5.2f} x of {base['broker']}")
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    versions = {name: version(name) for name in ("kombu", "redis")} | {"python": platform.python_version()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, "rows": rows}, indent=1) + "\n")


def brokers() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, URL and transport options of every available broker."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("queue", "control"):
            (Path(folder) / name).mkdir()
        queue, control = f"{folder}/queue", f"{folder}/control"
        options = {"data_folder_in": queue, "data_folder_out": queue, "control_folder": control}
        yield "folder", URL, {**options, "polling_interval": 0.05}
    if shutil.which("redis-server"):
        with redis_server() as url:
            yield "redis", url, {}
    else:
        print("redis-server is not installed; only the folder broker is measured")


@contextmanager
def redis_server() -> Iterator[str]:
    """Run a Redis server and yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def measure(name: str, url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Send ticks, then a burst, to a consumer in another process; return a row of the report."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    consumer = context.Process(target=consume, args=(url, options, TICKS + BURST, results))
    consumer.start()
    results.get(timeout=60)
    with Connection(url, transport_options=options) as connection, connection.SimpleQueue("bench") as queue:
        for _ in range(TICKS):
            queue.put({"sent": time.time()})
            time.sleep(PACE_S)
        began = time.time()
        for _ in range(BURST):
            queue.put({"sent": time.time()})
    delays, ended = results.get(timeout=300)
    consumer.join()
    return {"broker": name, "latency_s": statistics.median(delays[:TICKS]), "messages_per_s": BURST / (ended - began)}


def consume(url: str, options: dict[str, Any], count: int, results: Any) -> None:
    """Receive `count` messages and put the delay of each into `results`."""
    delays = []
    with Connection(url, transport_options=options) as connection, connection.SimpleQueue("bench") as queue:
        results.put("ready")
        for _ in range(count):
            message = queue.get(timeout=60)
            delays.append(time.time() - message.payload["sent"])
            message.ack()
    results.put((delays, time.time()))


if __name__ == "__main__":
    main()
