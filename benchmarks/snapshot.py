"""Snapshots of a repository of 5,000 files and 50 MB: `make bench NAME=snapshot`, about a minute.

Three snapshots of one tree by a new client process each: the first one, the second without a change, and one after the
edit of a file. The service is a process of its own with SQLite. Each measurement is the median of several trees.
"""

import json
import multiprocessing
import os
import platform
import random
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
        with service(home) as url:
            rows = [one_tree(home, url, number) for number in range(TREES)]
    report: dict[str, Any] = {"files": FILES, "bytes": BYTES, "trees": TREES, "targets": TARGETS, "medians": {}}
    for step in rows[0]:
        report["medians"][step] = {
            name: statistics.median(row[step][name] for row in rows) for name in ("seconds", "bytes", "requests")
        }
        found = report["medians"][step]
        print(f"{step:8} {found['seconds']:6.3f} s  {found['bytes']:12,.0f} bytes in {found['requests']:g} requests")
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
def service(home: Path) -> Iterator[str]:
    """Run the API in a process of its own; yield its address."""
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
        yield url
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    """Return a port on which nothing listens."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def one_tree(home: Path, url: str, number: int) -> dict[str, dict[str, float]]:
    """Make a repository; return seconds and bytes of three snapshots of it."""
    tree = make_repository(home / f"tree{number}", number)
    time.sleep(SETTLE_S)
    rows = {"first": measure(home, url, tree), "second": measure(home, url, tree)}
    (tree / "package0" / "module0.py").write_text("edited = True\n")
    rows["edited"] = measure(home, url, tree)
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
        began = time.perf_counter()
        take_snapshot(tree, client)
        seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "bytes": counter.sent, "requests": counter.requests}))


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
