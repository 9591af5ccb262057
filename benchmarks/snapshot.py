"""Snapshots of a repository of 5,000 files and 50 MB: `make bench NAME=snapshot`, about a minute.

Three snapshots of one tree by a new client process each: the first one, the second without a change, and one after the
edit of a file. The service is a process of its own with SQLite. Each measurement is the median of several trees.
"""

import json
import multiprocessing
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from bigbatch.client import Client
from bigbatch.snapshot import take_snapshot
from migrations.commands import upgrade

FILES, BYTES, TREES = 5_000, 50_000_000, 5
SETTLE_S = 2.5  # files that are younger are read again: their times may not show another change
TOKEN = "a-token-of-a-benchmark-with-enough-characters"
RESULT = Path(__file__).parent / "results" / "snapshot.json"
TARGETS = {"first": {"seconds": 2.0}, "second": {"seconds": 0.3, "bytes": 100_000}}


def main() -> None:
    """Measure, print a table and write the report."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with service(home) as (url, process):
            rows = [one_tree(home, url, process, number) for number in range(TREES)]
    report: dict[str, Any] = {"files": FILES, "bytes": BYTES, "trees": TREES, "targets": TARGETS, "medians": {}}
    for step in rows[0]:
        report["medians"][step] = {name: statistics.median(row[step][name] for row in rows) for name in rows[0][step]}
        found = report["medians"][step]
        client, api = found["client_cpu_seconds"], found["service_cpu_seconds"]
        cpu = f"processor: {client:.2f} s in the client, {api:.2f} s in the API"
        print(f"{step:8} {found['seconds']:6.3f} s ({cpu}), {found['bytes']:,.0f} bytes sent")
    report["rows"] = rows
    report["machine"] = {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": multiprocessing.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


@contextmanager
def service(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Run the API in a process of its own; yield its address and the process."""
    upgrade(f"sqlite:///{home}/bigbatch.db")
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_TOKEN": TOKEN, "BIGBATCH_DATABASE": ""}
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "api", "--port", str(port)], env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                httpx.get(f"{url}/api/v1/health")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def one_tree(home: Path, url: str, process: psutil.Process, number: int) -> dict[str, dict[str, float]]:
    """Make a repository; return seconds and bytes of three snapshots of it."""
    tree = make_repository(home / f"tree{number}", number)
    time.sleep(SETTLE_S)
    rows = {}
    for step in ("first", "second", "edited"):
        if step == "edited":
            (tree / "package0" / "module0.py").write_text("edited = True\n")
        used = sum(process.cpu_times()[:2])
        rows[step] = measure(home, url, tree)
        rows[step]["service_cpu_seconds"] = sum(process.cpu_times()[:2]) - used
    return rows


def make_repository(tree: Path, seed: int) -> Path:
    """Make a git repository of FILES files in 100 folders: half committed, half untracked."""
    random.seed(seed)
    tree.mkdir()
    for number in range(FILES):
        path = tree / f"package{number % 100}" / f"module{number // 100}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(random.randbytes(BYTES // FILES // 2).hex().encode())
        if number == FILES // 2:
            git(tree, "init", "-q")
            git(tree, "add", "-A")
            git(tree, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "half")
    return tree


def git(tree: Path, *words: str) -> None:
    """Run git in the tree."""
    subprocess.run(["git", "-C", str(tree), *words], check=True)


def measure(home: Path, url: str, tree: Path) -> dict[str, float]:
    """Take a snapshot in a new process, as the command does; return seconds without the start of Python."""
    command = [sys.executable, "-m", "benchmarks.snapshot", "--take", url, str(tree)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def take(url: str, tree: str) -> None:
    """Take one snapshot; print its seconds and bytes as JSON."""
    counter = Counter()
    with Client(url, TOKEN, transport=counter) as client:
        began, used = time.perf_counter(), sum(os.times()[:4])
        take_snapshot(tree, client)
        seconds, cpu_seconds = time.perf_counter() - began, sum(os.times()[:4]) - used
    found = {"seconds": seconds, "client_cpu_seconds": cpu_seconds, "bytes": counter.sent}
    print(json.dumps({**found, "requests": counter.requests}))


class Counter(httpx.BaseTransport):
    """Counts the bytes of requests, headers included."""

    def __init__(self) -> None:
        self._transport, self.sent, self.requests = httpx.HTTPTransport(), 0, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request."""
        self.sent += len(request.content) + sum(len(name) + len(value) + 4 for name, value in request.headers.raw)
        self.requests += 1
        return self._transport.handle_request(request)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take"]:
        take(*sys.argv[2:4])
    else:
        main()
