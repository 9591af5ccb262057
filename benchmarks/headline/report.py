"""What the benchmarks of this folder share: the shaped links, the machine, and the report."""

import json
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks.launcher import lab_hosts, shape_links

RESULTS = Path(__file__).parents[1] / "results"


@contextmanager
def shaped_links(rate: str) -> Iterator[None]:
    """Limit the lab's links to `rate`, and remove the limit at the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; no report was written"))
    shape_links("--rate", rate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()


def write(name: str, rate: str, load_before: float, **found: Any) -> None:
    """Write benchmarks/results/`name`.json with the machine, the versions and the load before and after."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, lab at {rate}"
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    load = [round(load_before, 2), round(os.getloadavg()[0], 2)]
    report = {"machine": machine, "versions": versions, "load": load, **found}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")


def hosts_of_layout(layout: str) -> tuple[list[str], int]:
    """Return the lab's hosts and the ranks per host of a layout such as 2x4."""
    hosts, per_host = map(int, layout.split("x"))
    return lab_hosts(hosts), per_host
