"""Points of `bigbatch.log` under kills and on a full disk, and the duration of a call: `make bench NAME=log`.

It takes about two minutes, and root for a small disk in memory.
"""

import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.log.points import DISK_MB, RANKS, ROOT, Trial
from tests.testing.small_disk import small_disk

RESULT = Path(__file__).parents[1] / "results" / "log.json"


def main() -> None:
    """Measure, print the result and write the report; exit with an error if a point was lost or doubled."""
    with tempfile.TemporaryDirectory(prefix="bigbatch-log-") as folder:
        durations = {"outside": durations_of({}), "inside": durations_of({"BIGBATCH_RUN_FOLDER": make_run(folder)})}
        with small_disk(Path(folder) / "disk", DISK_MB) as disk:
            points = Trial(disk, Path(folder) / "home").carry_out()
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    machine |= {"load": os.getloadavg()[0], "python": platform.python_version()}
    document = {"machine": machine, "ranks": RANKS, "points": points, "durations": durations}
    RESULT.write_text(json.dumps(document, indent=1) + "\n")
    for place, found in durations.items():
        median_us = found["one_metric_ns"]["median"] / 1000
        print(f"{place} a run: {median_us:.2f} us at the median, {found['calls_per_s']['value']:,} calls/s")
    print(", ".join(f"{name}: {value:,}" for name, value in points.items()))
    if points["lost"] or points["doubled"] or points["restarts_with_wrong_lost_steps"]:
        raise SystemExit("points were lost or doubled, or lost steps were counted wrongly")


def make_run(folder: str) -> str:
    """Create a run's folder; return its path."""
    path = Path(folder) / "run"
    (path / "attempts").mkdir(parents=True)
    return str(path)


def durations_of(variables: dict[str, str]) -> dict[str, Any]:
    """Measure in a process of its own with these environment variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("BIGBATCH_")}
    words = [sys.executable, "-S", "-m", "benchmarks.log.durations"]
    environment = own | variables | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
