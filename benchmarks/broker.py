"""How late is a tick through a folder of files, beside Redis? `make bench NAME=broker`, about half a minute.

Messages go from this process to another one, at the pace of the service's clock (latency) and as fast as they will
(throughput). Redis is what a team takes; the folder is what one laptop has.
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
    """Measure every broker that is here, print the table and write the report."""
    rows = [measure(name, url, options) for name, url, options in brokers()]
    base = next((row for row in rows if row["broker"] == "redis"), rows[0])
    for row in rows:
        late, quick = row["latency_s"] / base["latency_s"], row["messages_per_s"] / base["messages_per_s"]
        print(f"{row['broker']:8} median latency {late:6.1f} x, throughput {quick:5.2f} x of {base['broker']}")
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    versions = {name: version(name) for name in ("kombu", "redis")} | {"python": platform.python_version()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, "rows": rows}, indent=1) + "\n")


def brokers() -> Iterator[tuple[str, str, dict[str, Any]]]:
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
        print("redis-server is not installed: the folder is measured alone")


@contextmanager
def redis_server() -> Iterator[str]:
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
    """Send ticks and then a burst to a consumer in a process of its own."""
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    consumer = context.Process(target=consume, args=(url, options, TICKS + BURST, told))
    consumer.start()
    told.get(timeout=60)
    with Connection(url, transport_options=options) as connection, connection.SimpleQueue("bench") as queue:
        for _ in range(TICKS):
            queue.put({"sent": time.time()})
            time.sleep(PACE_S)
        began = time.time()
        for _ in range(BURST):
            queue.put({"sent": time.time()})
    delays, ended = told.get(timeout=300)
    consumer.join()
    return {"broker": name, "latency_s": statistics.median(delays[:TICKS]), "messages_per_s": BURST / (ended - began)}


def consume(url: str, options: dict[str, Any], count: int, told: Any) -> None:
    """Take `count` messages and tell how late each was."""
    delays = []
    with Connection(url, transport_options=options) as connection, connection.SimpleQueue("bench") as queue:
        told.put("ready")
        for _ in range(count):
            message = queue.get(timeout=60)
            delays.append(time.time() - message.payload["sent"])
            message.ack()
    told.put((delays, time.time()))


if __name__ == "__main__":
    main()
