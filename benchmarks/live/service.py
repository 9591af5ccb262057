"""The whole service as its processes, and the processor's time that each takes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

PARTS = {"api": ["api"], "worker": ["scheduler", "worker"], "clock": ["scheduler", "clock"]}
PATIENCE_S = 120


class Processes(dict[str, psutil.Process]):
    """The processes of the service, by part."""

    def seconds(self) -> dict[str, float]:
        """Return the processor's seconds of each part, with its children."""
        return {part: _seconds(process) for part, process in self.items()}


@contextmanager
def running(home: Path, settings: Mapping[str, str], port: int) -> Iterator[Processes]:
    """Run the service on a migrated database until the end of the block."""
    environment = {**os.environ, **settings}
    started: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for part, words in PARTS.items():
            more = ["--port", str(port)] if part == "api" else []
            with (home / f"{part}.log").open("ab") as log:
                command = [sys.executable, "-m", *words, *more]
                started[part] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        _wait(f"http://127.0.0.1:{port}/api/v1/ready")
        yield Processes({part: psutil.Process(process.pid) for part, process in started.items()})
    finally:
        for process in started.values():
            process.terminate()
        for process in started.values():
            process.wait(150)


def _wait(url: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > until:
            raise TimeoutError(f"{url} is not ready")
        time.sleep(0.2)


def _seconds(process: psutil.Process) -> float:
    total = 0.0
    for one in [process, *process.children(recursive=True)]:
        times = one.cpu_times()
        total += times.user + times.system
    return total
