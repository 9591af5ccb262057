"""Points: from run folders and by HTTP to answers of the API, beside MLflow, and the sizes and pictures of long curves.

`make bench NAME=points` takes a quarter of an hour and 2 GB below $TMPDIR. It installs MLflow into a folder of its own
there, with pip. POINTS_SIZES=1000000,10000000 limits the lengths of the curves; POINTS_SIZES=none leaves them out and
writes no report. POINTS_PEER=no leaves MLflow out.
"""

import json
import multiprocessing
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.points import by_http, ingestion, long_curves, peer
from tests.testing.servers import postgres

RESULT = Path(__file__).parents[1] / "results" / "points.json"
SIZES = (10**6, 10**7, 10**8)


def main() -> None:
    """Measure, print the result and write the report."""
    asked = os.environ.get("POINTS_SIZES", "")
    sizes = [int(size) for size in asked.split(",") if size.isdecimal()] or list(SIZES)
    with tempfile.TemporaryDirectory(prefix="bigbatch-points-") as folder:
        found: dict[str, Any] = {"machine": _machine()}
        found["ingestion"] = ingestion.measure(Path(folder) / "ingestion")
        with postgres() as url:
            found["ingestion into PostgreSQL"] = ingestion.measure(Path(folder) / "postgresql", url)
        found["by HTTP"] = by_http.measure(Path(folder) / "by-http")
        if os.environ.get("POINTS_PEER") != "no":
            found["mlflow"] = peer.measure(Path(folder) / "peer")
            found["ratios"] = _ratios(found["ingestion"] | found["by HTTP"], found["mlflow"])
            found["ratios of PostgreSQL"] = _ratios(found["ingestion into PostgreSQL"], found["mlflow"])
        if asked == "none":
            print(json.dumps(found, indent=1))
            return
        found["curves"] = [long_curves.measure(Path(folder) / f"curve-{size}", size) for size in sizes]
        found["overlay"] = long_curves.measure_overlay(Path(folder) / "overlay")
    found["machine"]["load_at_the_end"] = os.getloadavg()[0]
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def _machine() -> dict[str, Any]:
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    return machine | {"load": os.getloadavg()[0], "python": platform.python_version()}


def _ratios(ingested: dict[str, Any], logged: dict[str, Any]) -> dict[str, float]:
    base = logged["points_per_s"]
    return {name: round(row["points_per_s"] / base, 1) for name, row in ingested.items()}


if __name__ == "__main__":
    main()
