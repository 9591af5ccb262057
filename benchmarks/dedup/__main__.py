"""Near-duplicates: the time of the grouping, what each hash finds, what crops need, and the accuracy by threshold.

    python -m benchmarks.dedup [grouping] [found] [crops] [accuracy] [--hashes 1000000] [--workers 2] [--finished FILE]
    python -m benchmarks.dedup grouping --hashes 10000000 --cases "random bits, default"

Without a part, all parts run. Each part replaces its rows in benchmarks/results/dedup.json; the grouping replaces those
of the same number of hashes and the same case.
"""

import argparse
import json
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dedup.accuracy import SEEDS, measure_accuracy
from benchmarks.dedup.crops import measure_crops
from benchmarks.dedup.grouping import CASES, measure_found, measure_grouping

REPORT = Path(__file__).parents[1] / "results" / "dedup.json"
PARTS = ("grouping", "found", "crops", "accuracy")


def main() -> None:
    """Measure the parts and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--hashes", type=int, default=10**6)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES], help="kinds of hashes for the grouping")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finished", type=Path, help="file of finished runs, which are not repeated")
    options = parser.parse_args()
    finished = options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    for part in options.parts or PARTS:
        rows = _measure(part, options, finished)
        # the newest report, because parts may run at the same time
        report: dict[str, Any] = json.loads(REPORT.read_text()) if REPORT.exists() else {}
        report |= {"python": platform.python_version(), "numpy": np.__version__, "system": platform.system()}
        if part == "grouping":
            rows = _merged(report.get(part, []), rows)
        REPORT.write_text(json.dumps({**report, part: rows}, indent=1) + "\n")


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    measured = {(row["hashes"], row["case"]) for row in new}
    return [*(row for row in old if (row["hashes"], row["case"]) not in measured), *new]


def _measure(part: str, options: argparse.Namespace, finished: Path) -> list[dict[str, Any]]:
    match part:
        case "grouping":
            return measure_grouping(options.hashes, options.cases)
        case "found":
            return measure_found(SEEDS)
        case "crops":
            return measure_crops(SEEDS)
        case _:
            return measure_accuracy(options.workers, finished)


if __name__ == "__main__":
    main()
